"""What is compared: something that turns the ids of one row into its pooled vector."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]  # [S]
Vector = NDArray[np.float32]  # [D]


class Runner(Protocol):
    """An engine with a model loaded; `name` is shown."""

    @property
    def name(self) -> str:
        """How tables name it."""

    def prepare(self, length: int) -> None:
        """Do beforehand what need not be timed for rows of this length."""

    def __call__(self, ids: Ids) -> Vector:
        """The mean of the row's last hidden states, final norm included, not normalized."""

    def close(self) -> None:
        """Let go of threads and weights."""
