"""What is compared: something that turns one row into numbers, mostly its ids into their pooled vector."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]  # [S]
Vector = NDArray[np.float32]  # [D]


Input = TypeVar("Input", contravariant=True)


class RunnerOf(Protocol[Input]):
    """An engine with a model loaded; `name` is shown."""

    @property
    def name(self) -> str:
        """How tables name it."""

    def prepare(self, length: int) -> None:
        """Do beforehand what need not be timed for rows of this length."""

    def __call__(self, given: Input, /) -> Vector:
        """Numbers of the row. Of ids: the mean of the last hidden states, final norm included, not normalized."""

    def close(self) -> None:
        """Let go of threads and weights."""


Runner = RunnerOf[Ids]
