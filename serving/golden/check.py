"""The check itself: ask each readiness request twice, compare the runs, judge both (runtime rules, section 9.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from checkpoints.golden import Expected, Reference
from serving.golden.cases import Case, cases
from serving.golden.values import Malformed, Values, read_values
from serving.golden.verdict import (
    DRIFTING,
    OTHER_TOLERANCE,
    UNVERIFIED,
    Golden,
    GoldenCheckFailed,
    find_difference,
    tolerance_of,
)
from vela_jax.contract import Surface
from vela_jax.surfaces.card import Description

Ask = Callable[[Surface, dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Run:
    """A case and the values of its two answers."""

    case: Case
    values: tuple[Values, Values]


async def check(description: Description, ask: Ask, device_class: str, reference: Reference | None) -> Golden:
    """Ask each readiness request twice through `ask` and judge the answers; gives `matched` or `unverified`.

    Raises GoldenCheckFailed, which names the request, the key, and the values found and expected.
    """
    runs = await run_cases(description, ask, device_class)
    return UNVERIFIED if reference is None else _judge(runs, device_class, reference)


async def run_cases(description: Description, ask: Ask, device_class: str) -> list[Run]:
    """Both runs of every case, well formed and equal. Raises GoldenCheckFailed."""
    return [await _run_twice(case, ask, device_class) for case in cases(description)]


async def _run_twice(case: Case, ask: Ask, device_class: str) -> Run:
    first, second = await ask(case.surface, case.body), await ask(case.surface, case.body)
    try:
        values = read_values(case.surface, first), read_values(case.surface, second)
    except Malformed as error:
        raise GoldenCheckFailed(f"readiness request {case.name!r}: {error}") from None
    if device_class in DRIFTING:
        difference = find_difference(values[1], Expected(values[0]), OTHER_TOLERANCE)
    else:
        difference = None if first == second else "the second answer is another one"
    if difference is not None:
        raise GoldenCheckFailed(f"readiness request {case.name!r}: two runs gave different answers: {difference}")
    return Run(case, values)


def _judge(runs: Sequence[Run], device_class: str, reference: Reference) -> Golden:
    """Compare both runs of every recorded case; without a recording for each case the model stays `unverified`."""
    unknown = sorted(set(reference.cases) - {run.case.name for run in runs})
    faults = [f"{name!r}: it is recorded, and the model has no such request" for name in unknown]
    recorded = [run for run in runs if run.case.name in reference.cases]
    checked, matched = 2 * len(recorded), 0
    for run in recorded:
        differences = [_difference(values, reference.cases[run.case.name], device_class) for values in run.values]
        faults += [f"{run.case.name!r}: {difference}" for difference in differences if difference is not None]
        matched += differences.count(None)
    if faults:
        message = f"readiness request {faults[0]} (reference {reference.name})"
        raise GoldenCheckFailed(message, Golden("failed", checked, matched, reference.name))
    return Golden("matched" if len(recorded) == len(runs) else "unverified", checked, matched, reference.name)


def _difference(values: Values, expected: Expected, device_class: str) -> str | None:
    tolerance = tolerance_of(device_class, expected.tolerances)
    if tolerance is None:
        given = expected.tolerances.get(device_class)
        return f"the recorded tolerance on {device_class} is {given!r}, allowed is a finite number from 0 on"
    return find_difference(values, expected, tolerance)
