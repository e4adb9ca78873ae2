"""How a model's values are judged: tolerances of a device class, differences, and what the card says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from checkpoints.golden import Expected
from serving.golden.values import Values

TOLERANCES: Final[Mapping[str, float | None]] = {"cpu": 1e-3, "mps": None}
"""Absolute bounds by device class; None where a case must bring its own (runtime rules, section 9.3)."""
OTHER_TOLERANCE: Final = 0.02
DRIFTING: Final = frozenset({"npu"})
"""Device classes that are let off equal bits: two runs may differ within the tolerance."""


@dataclass(frozen=True, slots=True)
class Golden:
    """What the card says of the check; `checked` and `matched` count runs, two of each case that is recorded."""

    status: Literal["pending", "matched", "unverified", "failed"]
    checked: int = 0
    matched: int = 0
    reference: str | None = None


PENDING: Final = Golden("pending")
UNVERIFIED: Final = Golden("unverified")
FAILED: Final = Golden("failed")


class GoldenCheckFailed(Exception):
    """A readiness request was answered badly, differently when repeated, or not as recorded; `golden` counts."""

    def __init__(self, message: str, golden: Golden = FAILED) -> None:
        super().__init__(message)
        self.golden = golden


def tolerance_of(device_class: str, own: Mapping[str, object]) -> float | None:
    """The absolute bound on a device class; None where the class needs a case's own bound and that is not one.

    `own` are the case's bounds by class. They tighten the bound of a class that has one, they never widen it.
    """
    bound = TOLERANCES.get(device_class, OTHER_TOLERANCE)
    given = own.get(device_class)
    if given is None:
        return bound
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        return None
    return float(given) if bound is None else min(float(given), bound)


def find_difference(found: Values, expected: Expected, tolerance: float) -> str | None:
    """Say at which key values are not those expected: another number, a missing key, one too many."""
    for key, value in expected.values.items():
        if key not in found:
            return f"{key} is missing, expected {value:.9g}"
        if not abs(found[key] - value) <= tolerance:  # true of NaN
            return f"{key} is {found[key]:.9g}, expected {value:.9g} within {tolerance:g}"
    if expected.is_partial:
        return None
    for key, value in found.items():
        if key not in expected.values:
            return f"{key} is {value:.9g}, expected no such value"
    return None
