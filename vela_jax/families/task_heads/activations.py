"""From logits to the numbers of an answer: computed in double, given back as float32 values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Probabilities over the last axis."""
    wide = logits.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=-1, keepdims=True))
    probabilities: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities.astype(np.float32)


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Elementwise scores; large negative logits do not overflow."""
    wide = logits.astype(np.float64)
    small = np.exp(-np.abs(wide))
    scores = np.where(wide >= 0, 1.0, small) / (1.0 + small)
    return scores.astype(np.float32)


def logistic(value: float) -> float:
    """The score of one logit in double."""
    small = math.exp(-abs(value))
    return (1.0 if value >= 0 else small) / (1.0 + small)
