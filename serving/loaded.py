"""A model as its load leaves it: what plans, what runs, where it came from, where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from checkpoints.golden import Reference
from vela_jax.contract import Engine, Model
from vela_jax.surfaces.card import Description

if TYPE_CHECKING:
    from vela_jax.generation.engine import TokenEngine
    from vela_jax.generation.plan import Planner

Report = Callable[[str, int, int], None]
"""Told of a stage's name and how much of it is done: `(stage, done, total)`, total 0 where it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Which package a model came from."""

    model_id: str  # the package's own name
    repo: str | None
    revision: str | None  # 40 hex digits; None for a local package
    model_sha256: str
    manifest_sha256: str
    licence: str | None
    release_date: str  # YYYY-MM-DD


@dataclass(frozen=True, slots=True)
class TokenSide:
    """What a generator has beside the members of every model: what plans its requests, and what runs them."""

    planner: Planner
    engine: TokenEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model read and placed: what plans, what runs, and what the card says of both.

    `warm` makes ready what must be before the first request, `fill` leaves the rest
    to the background. `lengths` are the tokens of padded rows, in ascending
    order; `buckets` gives the card's line of each bucket, `compiles` the executables so far, `close` ends what is
    made ready in the background. `reference` are the recorded answers the model is judged by, if there are any.
    """

    model: Model
    engine: Engine
    description: Description
    provenance: Provenance
    accelerator: str
    accelerator_validated: bool
    device: str  # label, as in cpu or cuda:0
    engine_name: str
    engine_args: Mapping[str, Any]
    numerics: Literal["exact", "approximate"]
    memory_bytes: int
    warm: Callable[[Report], None]
    fill: Callable[[], None]
    lengths: tuple[int, ...]
    buckets: Callable[[], list[dict[str, Any]]]
    compiles: Callable[[], int]
    close: Callable[[], None]
    reference: Reference | None = None
    tokens: TokenSide | None = None  # a generator has it

    @property
    def identity(self) -> str:
        """Hub repository ID, else the package's own name; a served alias does not change it."""
        return self.provenance.repo or self.provenance.model_id
