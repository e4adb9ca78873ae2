"""Resident memory of this process: what a step adds, and the most that it takes in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

MIB: Final = 1 << 10  # KiB
_STATUS: Final = Path("/proc/self/status")
_FORGET: Final = Path("/proc/self/clear_refs")

T = TypeVar("T")


def added(step: Callable[[], T]) -> tuple[T, float]:
    """The result of a step, and the MiB that it leaves behind; NaN where the system does not tell."""
    before = _kib("VmRSS")
    result = step()
    return result, (_kib("VmRSS") - before) / MIB


def most_taken(step: Callable[[], object]) -> float:
    """MiB that a step takes at the most beyond what was there; NaN where the system does not tell."""
    try:
        _FORGET.write_text("5", encoding="ascii")  # the peak so far
    except OSError:
        return float("nan")
    before = _kib("VmRSS")
    step()
    return (_kib("VmHWM") - before) / MIB


def _kib(name: str) -> float:
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return float("nan")
    return next((float(line.split()[1]) for line in lines if line.startswith(f"{name}:")), float("nan"))
