"""A generator as the server sees it: it has no surface of its own, and is asked over the generate endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NoReturn

from vela_jax.contract import Batch, Row, Surface, UnsupportedSurface
from vela_jax.generation.spec import FAMILY, GeneratorSpec
from vela_jax.surfaces.card import Description


@dataclass(frozen=True, slots=True)
class GeneratorModel:
    """The part of a served model that plans surfaces and describes itself."""

    spec: GeneratorSpec
    parameters: int

    def plan(self, surface: Surface, request: Any) -> NoReturn:  # noqa: ARG002
        """Refuse every surface. Raises UnsupportedSurface."""
        raise UnsupportedSurface(
            f"this model generates tokens and does not serve {surface}: use /inference/v1/generate"
        )

    def describe(self) -> Description:
        """The card's members."""
        profile, options = self.spec.profile, self.spec.options
        limits = {
            "max_model_len": profile.max_model_len,
            "max_num_seqs": options.max_num_seqs,
            "max_logprobs": profile.max_logprobs,
        }
        return Description(family=FAMILY, surfaces=[], limits=limits, parameters=self.parameters)


class NoRows:
    """Stands where a model has its engine of rows: nothing is ever planned for it."""

    def prepare(self, rows: Sequence[Row]) -> list[Future[None]]:  # noqa: ARG002
        """Nothing has to be made ready."""
        return []

    def batches(self, rows: Sequence[Row]) -> list[Batch]:  # noqa: ARG002
        """There are no rows to place."""
        return []

    def run(self, rows: Sequence[Row], batch: Batch) -> NoReturn:  # noqa: ARG002
        """No batch was given out."""
        raise AssertionError("a generator has no batches of rows")
