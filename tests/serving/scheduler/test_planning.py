"""Arrivals join the batches that wait, and nothing of the waiting work is lost by it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from serving.scheduler import Job, Scheduler
from serving.scheduler import scheduler as module
from tests.serving.fakes import Clock, FakeEngine, Gate, on_loop, row
from tests.serving.scheduler.outcomes import outcome, values
from vela_jax.contract import Batch, Row


class Buckets(FakeEngine):
    """Puts up to two rows of one bucket into a forward."""

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """One bucket after the other."""
        if self.plan_failure is not None:
            raise self.plan_failure
        found = []
        for size in sorted({len(bin(each.length)) for each in rows}):
            mine = [index for index, each in enumerate(rows) if len(bin(each.length)) == size]
            for start in range(0, len(mine), 2):
                part = tuple(mine[start : start + 2])
                found.append(Batch(part, tuple(range(len(part))), len(part), 1 << size, 1))
        return found


@pytest.fixture
def engine(gate: Gate, clock: Clock) -> FakeEngine:
    return Buckets(gate=gate, clock=clock)


def test_an_arrival_fills_a_batch_that_waits(gate: Gate, engine: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        running, waiting, late = Job([row(1)]), Job([row(20)]), Job([row(21)])
        scheduler.submit([running, waiting])
        await gate.reached()
        scheduler.submit([late])
        gate.open(9)
        assert values(await scheduler.wait(waiting)) == [[20, 20]]
        assert values(await scheduler.wait(late)) == [[21, 21]]
        assert [sorted(forward) for forward in engine.forwards] == [[1], [20, 21]]

    on_loop(scenario())


def test_who_waits_longer_is_in_the_first_batch(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler, clock: Clock
) -> None:
    async def scenario() -> None:
        running, waiting = Job([row(1)]), Job([row(20), row(21), row(22)])
        scheduler.submit([running, waiting])
        await gate.reached()
        clock.now += 1
        late = Job([row(16), row(17)])
        scheduler.submit([late])
        gate.open(9)
        for job in (running, waiting, late):
            await scheduler.wait(job)
        assert engine.forwards == [[1], [20, 21], [22, 16], [17]]

    on_loop(scenario())


def test_rows_of_a_job_that_left_are_planned_no_more(gate: Gate, engine: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        running, leaving, staying, late = Job([row(1)]), Job([row(20)]), Job([row(21)]), Job([row(22)])
        scheduler.submit([running, leaving, staying])
        await gate.reached()
        scheduler.cancel(leaving)
        scheduler.submit([late])
        gate.open(9)
        assert values(await scheduler.wait(late)) == [[22, 22]]
        assert [sorted(forward) for forward in engine.forwards] == [[1], [21, 22]]

    on_loop(scenario())


def test_a_plan_that_fails_leaves_what_waited_as_it_was(gate: Gate, engine: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        running, waiting, late = Job([row(1)]), Job([row(20)]), Job([row(21)])
        scheduler.submit([running, waiting])
        await gate.reached()
        engine.plan_failure = RuntimeError("no bucket")
        scheduler.submit([late])
        gate.open(9)
        assert await outcome(scheduler, late) == "internal_error"
        assert values(await scheduler.wait(waiting)) == [[20, 20]]

    on_loop(scenario())


def test_behind_many_rows_arrivals_are_planned_by_themselves(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        running, waiting, late = Job([row(1)]), Job([row(20), row(21), row(22)]), Job([row(23)])
        scheduler.submit([running, waiting])
        await gate.reached()
        scheduler.submit([late])
        gate.open(9)
        for job in (waiting, late):
            await scheduler.wait(job)
        assert sorted(engine.forwards) == [[1], [20, 21], [22], [23]]

    monkeypatch.setattr(module, "JOINABLE_ROWS", 2)
    on_loop(scenario())
