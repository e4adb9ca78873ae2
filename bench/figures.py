"""Arithmetic of measurements: percentiles, and ratios of what was measured in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest-rank percentile of at least one value; `share` from 0 to 1."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio measured several times: its median and its quartiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def paired_ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """`above` / `below`, pair by pair: each pair was measured in one round, so that a busy host slows both.

    Raises ValueError for no pair or lists of unequal length.
    """
    if not above or len(above) != len(below):
        raise ValueError(f"ratios need as many values above as below, found {len(above)} and {len(below)}")
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    return Ratio(median(ratios), percentile(ratios, 0.25), percentile(ratios, 0.75))


def in_turns(names: Sequence[str], round_number: int) -> list[str]:
    """The names in the order of a round: each round begins with another one."""
    start = round_number % len(names)
    return [*names[start:], *names[:start]]
