"""What every small encoder is to its run: a network, batches, a loss, figures, and the files of its package."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from bench.mini.encoders.networks import Size
from bench.mini.encoders.served import Served
from bench.mini.teacher import Teacher
from vela_jax.families.task_heads.reading import Texts
from vela_jax.families.task_heads.spec import Spec

STRIDE: Final = 1_000_003
"""Between the seeds of two runs, so that no chunk of one is a chunk of the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What batches are made of. `axes` [D D] turn the teacher's vectors."""

    texts: Texts
    teacher: Teacher
    axes: NDArray[np.float32]
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Exam:
    """A package to be judged, by so many held-out examples."""

    served: Served
    teacher: Teacher
    count: int


class Encoder(Protocol):
    """One small encoder: its sizes, and what it learns."""

    @property
    def title(self) -> str:
        """Name of the package."""

    @property
    def about(self) -> str:
        """What it does, in a sentence."""

    @property
    def note(self) -> str:
        """What is to be known about its files."""

    @property
    def size(self) -> Size:
        """How large it is."""

    @property
    def cased(self) -> bool:
        """Whether it tells capitals from small letters."""

    @property
    def steps(self) -> int:
        """Steps of a whole run."""

    @property
    def learning_rate(self) -> float:
        """Highest step size."""

    @property
    def architecture(self) -> str:
        """The only entry of `architectures`."""

    @property
    def begins_as(self) -> str:
        """The encoder whose trained network it begins with; empty: none."""

    def corpus(self, rng: random.Random, count: int) -> list[str]:
        """Texts that decide which pieces it keeps."""

    def members(self) -> Mapping[str, Any]:
        """What it adds to `config.json`."""

    def spec(self, config: Mapping[str, Any]) -> Spec:
        """What the family makes of its config."""

    def batches(self, given: Given, chunk: int) -> Iterator[Any]:
        """The batches of a chunk, the same each time."""

    def loss(self, network: Any, batch: Any, weights: jax.Array) -> tuple[jax.Array, Mapping[str, jax.Array]]:
        """The loss of a batch, and its parts by name."""

    def figures(self, exam: Exam) -> Mapping[str, Any]:
        """How good a package is on what it was not trained on."""

    def files(self) -> Mapping[str, Any]:
        """Further files of its package: JSON values, or bytes, by path."""
