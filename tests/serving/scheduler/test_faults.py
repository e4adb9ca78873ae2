"""Out of memory, alone and shared, and faults of the device."""

from __future__ import annotations

import asyncio

import pytest

from serving.errors import ErrorCode, RequestFailed
from serving.scheduler import Job, Scheduler, failure_of
from tests.serving.fakes import FakeEngine, Gate, on_loop, row
from tests.serving.scheduler.outcomes import outcome, values
from vela_jax.contract import DeviceFault, OutOfMemory


@pytest.mark.parametrize(
    ("error", "alone", "code", "said"),
    [
        (OutOfMemory("8 GiB"), True, ErrorCode.REQUEST_TOO_LARGE, "send fewer or shorter inputs"),
        (OutOfMemory("8 GiB"), False, ErrorCode.OVERLOADED, "try again later"),
        (DeviceFault("lost"), True, ErrorCode.INTERNAL_ERROR, "DeviceFault: lost"),
        (ValueError("bad"), False, ErrorCode.INTERNAL_ERROR, "ValueError: bad"),
    ],
)
def test_a_failure_says_what_to_do(error: Exception, alone: bool, code: ErrorCode, said: str) -> None:
    found, message = failure_of(error, alone=alone)
    assert found is code
    assert said in message


@pytest.fixture
def pairs(engine: FakeEngine) -> FakeEngine:
    """The engine with two rows a forward."""
    engine.rows_per_batch = 2
    return engine


def test_a_request_alone_in_its_forward_is_too_large(gate: Gate, pairs: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        gate.open(9)
        pairs.failures[0] = OutOfMemory("8 GiB")
        job = Job([row(2), row(3)])
        scheduler.submit([job])
        assert await outcome(scheduler, job) == "request_too_large"
        assert values(await scheduler.run([row(4)])) == [[4, 4]], "the model keeps serving"
        assert scheduler.pending == (0, 0)

    on_loop(scenario())


def test_jobs_of_one_request_are_alone_together(gate: Gate, pairs: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        gate.open(9)
        pairs.failures[0] = OutOfMemory("8 GiB")
        jobs = [Job([row(2)]), Job([row(3)])]
        scheduler.submit(jobs)
        assert [await outcome(scheduler, job) for job in jobs] == ["request_too_large"] * 2

    on_loop(scenario())


@pytest.mark.parametrize("leaves", [False, True])
def test_requests_that_share_a_forward_are_asked_to_come_again(
    gate: Gate, pairs: FakeEngine, scheduler: Scheduler, leaves: bool
) -> None:
    async def scenario() -> None:
        blocker, first, second = Job([row(1)]), Job([row(2)]), Job([row(3)])
        scheduler.submit([blocker])
        await gate.reached()
        scheduler.submit([first])
        scheduler.submit([second])
        pairs.failures[1] = OutOfMemory("8 GiB")
        gate.open(1)
        await gate.reached()
        if leaves:
            scheduler.cancel(second)
        gate.open(9)
        assert await outcome(scheduler, first) == "overloaded", "a neighbour that left meanwhile was there"
        if not leaves:
            assert await outcome(scheduler, second) == "overloaded"
        assert values(await scheduler.run([row(2)])) == [[2, 2]]

    on_loop(scenario())


def test_a_device_fault_fails_its_batch_and_turns_everything_else_away(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler, faults: list[DeviceFault]
) -> None:
    async def scenario() -> None:
        fault = DeviceFault("illegal memory access")
        engine.failures[0] = fault
        hit, planned, queued = Job([row(2)]), Job([row(30)]), Job([row(4)])
        scheduler.submit([hit])
        scheduler.submit([planned])
        await gate.reached()
        scheduler.submit([queued])
        gate.open(9)
        assert await outcome(scheduler, hit) == "internal_error"
        assert [await outcome(scheduler, job) for job in (planned, queued)] == ["not_ready"] * 2
        with pytest.raises(RequestFailed, match=r"the device failed .*illegal memory access") as refused:
            await scheduler.run([row(1)])
        assert refused.value.code is ErrorCode.NOT_READY
        assert (scheduler.pending, scheduler.depth) == ((0, 0), 0)
        assert engine.forwards == [[2]]
        assert faults == [fault]
        assert await asyncio.to_thread(scheduler.stop)

    on_loop(scenario())


def test_a_fault_is_told_once_and_not_by_a_scheduler_that_ends(scheduler: Scheduler, faults: list[DeviceFault]) -> None:
    scheduler.note_fault(DeviceFault("first"))
    scheduler.note_fault(DeviceFault("second"))
    assert [str(fault) for fault in faults] == ["first"]
    ended = Scheduler(FakeEngine(), max_jobs=1, max_tokens=1, on_fault=faults.append)
    ended.stop()
    ended.note_fault(DeviceFault("third"))
    assert len(faults) == 1
