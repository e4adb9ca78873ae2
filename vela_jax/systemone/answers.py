"""What the answers of all decisions models share: failures and probabilities (System One semantics, section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import ItemError


def failure(kind: Any, error: ItemError, message: str | None = None, reason: str | None = None) -> dict[str, Any]:
    """The answer of a question that has none; `kind` is the type that it was asked as."""
    failed: dict[str, Any] = {"type": kind, "error": str(error)}
    if message is not None:
        failed["message"] = message
    if reason is not None:
        failed["reason"] = reason
    return failed


def softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Probabilities in double precision."""
    wide = logits.astype(np.float64)
    powers = np.exp(wide - wide.max())
    probabilities: NDArray[np.float64] = powers / powers.sum()
    return probabilities


def outcomes(answers: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """(type, "answered" or item error) of each answer, for the metrics."""
    return tuple((str(answer["type"]), str(answer.get("error", "answered"))) for answer in answers)
