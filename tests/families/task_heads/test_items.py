from __future__ import annotations

import time

import numpy as np

from vela_jax.contract import ItemError, Readout, Row
from vela_jax.families.task_heads.items import PLANNED_ANYWAY, Failed, Item, Planned, plan_each
from vela_jax.surfaces.deadline import running_until
from vela_jax.surfaces.usage import ItemUsage


def planned(value: str) -> Item:
    row = Row(np.ones(len(value), np.int32), Readout("sum", 1))
    return Planned((row,), ItemUsage(row.length, row.length), lambda _: {})


def test_items_that_are_planned_too_late_have_failed_by_it() -> None:
    seen: list[str] = []
    with running_until(time.monotonic() + 3600):
        assert all(isinstance(item, Planned) for item in plan_each(["a", "b"], planned))
    with running_until(time.monotonic() - 1):
        items = plan_each(["a", "b" * PLANNED_ANYWAY, "c", "d"], lambda value: seen.append(value[0]) or planned(value))  # type: ignore[func-returns-value]
    assert [isinstance(item, Planned) for item in items] == [True, True, False, False]
    assert items[2] == items[3] == Failed(ItemError.DEADLINE_EXCEEDED)
    assert seen == ["a", "b"], "little work is done, so that its usage can be counted"
