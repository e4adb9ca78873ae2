"""Log-probabilities of one position: which candidates are reported (token-in/token-out contract, section 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FLOOR: Final = -9999.0
"""Stands for what is smaller, and for what is no number."""


class Candidate(NamedTuple):
    """A token, its log-probability, and how many are at least as probable."""

    token_id: int
    logprob: float
    rank: int


def candidates(values: NDArray[np.float32], token_id: int, count: int) -> list[Candidate]:
    """The token itself, then the `count` most probable others and itself in one order; -1 is the whole vocabulary.

    A token among the most probable is not repeated.
    """
    wanted = len(values) if count < 0 else min(count, len(values))
    top = [each for each in _top(values, wanted) if each != token_id]
    return [_candidate(values, each) for each in (token_id, *top)]


def chosen_candidates(values: NDArray[np.float32], token_id: int, others: Sequence[int]) -> list[Candidate]:
    """The token itself, then those that were asked for by id."""
    return [_candidate(values, each) for each in (token_id, *(other for other in others if other != token_id))]


def _top(values: NDArray[np.float32], count: int) -> list[int]:
    """The most probable ids, the smaller id first where two are equal."""
    if count == 0:
        return []
    if count < len(values):
        bound = np.partition(values, len(values) - count)[len(values) - count]
        some = np.flatnonzero(values >= bound)
    else:
        some = np.arange(len(values))
    return [int(each) for each in some[np.argsort(-values[some], kind="stable")][:count]]


def _candidate(values: NDArray[np.float32], token_id: int) -> Candidate:
    value = float(values[token_id])
    return Candidate(token_id, value if value >= FLOOR else FLOOR, int(np.count_nonzero(values >= values[token_id])))
