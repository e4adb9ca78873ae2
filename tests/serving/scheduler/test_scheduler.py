"""Order of work, deadlines, cancellation, faults and stops of one model's scheduler."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from serving.errors import ErrorCode, RequestFailed
from serving.scheduler import Forward, Job, Scheduler
from tests.serving.fakes import Clock, FakeEngine, Gate, on_loop, row, until
from tests.serving.scheduler.outcomes import outcome, values
from vela_jax.contract import EXPIRED, Batch, Row


class Watched:
    """Keeps what a scheduler tells."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.forwards: list[Forward] = []
        self.expired: list[int] = []

    def job_started(self, waited: float) -> None:
        self.waits.append(waited)

    def forward_done(self, forward: Forward) -> None:
        self.forwards.append(forward)

    def rows_expired(self, rows: int) -> None:
        self.expired.append(rows)


async def teach(gate: Gate, engine: FakeEngine, scheduler: Scheduler) -> None:
    """Let the running estimate learn from a first forward."""
    first = asyncio.create_task(scheduler.run([row(10)]))
    await gate.reached()
    gate.open()
    await first
    engine.forwards.clear()


def test_results_come_in_row_order(gate: Gate, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        gate.open(3)
        results = await scheduler.run([row(3, 2), row(5), row(1, 9)])
        assert values(results) == [[6, 3], [5, 5], [9, 1]]
        assert scheduler.pending == (0, 0)

    on_loop(scenario())


def test_a_group_shares_a_forward_and_an_empty_job_is_answered_at_once(gate: Gate, clock: Clock) -> None:
    async def scenario() -> None:
        engine = FakeEngine(gate=gate)
        scheduler = Scheduler(engine, max_jobs=2, max_tokens=100, clock=clock)
        scheduler.start()
        jobs = [Job([row(2)]), Job([]), Job([row(3)])]
        scheduler.submit(jobs)
        assert await scheduler.wait(jobs[1]) == []
        assert scheduler.pending == (2, 5), "the empty job counts nothing"
        gate.open(1)
        assert values(await scheduler.wait(jobs[0])) == [[2, 2]]
        assert values(await scheduler.wait(jobs[2])) == [[3, 3]]
        assert engine.forwards == [[2, 3]]
        scheduler.stop()

    on_loop(scenario())


def test_a_lone_job_does_not_wait_for_company(gate: Gate, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        running = asyncio.create_task(scheduler.run([row(4)]))
        await gate.reached()  # nothing else arrives, the clock stands still, and it runs
        gate.open()
        await running

    on_loop(scenario())


def test_admission_counts_jobs_until_they_are_answered(clock: Clock, gate: Gate, engine: FakeEngine) -> None:
    """Limit 2: a long job of two batches runs, a short one is queued; the third waits for an answer."""

    async def scenario() -> None:
        engine.seconds_per_token = 1e-2
        scheduler = Scheduler(engine, max_jobs=2, max_tokens=1 << 22, clock=clock)
        scheduler.start()

        async def is_refused() -> bool:
            with pytest.raises(RequestFailed) as refused:
                await scheduler.run([row(1)])
            return refused.value.code is ErrorCode.OVERLOADED

        with pytest.raises(RequestFailed):
            scheduler.submit([Job([row(1)]), Job([row(1)]), Job([row(1)])])
        assert scheduler.pending == (0, 0)
        await teach(gate, engine, scheduler)
        long = Job([row(64), row(64)])
        scheduler.submit([long])
        await gate.reached()
        short = Job([row(8)])
        scheduler.submit([short])
        assert await is_refused()
        gate.open()
        await gate.reached()
        assert engine.forwards == [[64], [8]], "the short job goes between the long one's batches"
        assert await is_refused()
        gate.open()
        await scheduler.wait(short)
        await gate.reached()
        gate.open()
        await scheduler.wait(long)
        last = asyncio.create_task(scheduler.run([row(1)]))
        await gate.reached()
        gate.open()
        await last
        scheduler.stop()

    on_loop(scenario())


@pytest.mark.parametrize(
    ("seconds_per_token", "delay", "expected"),
    [(1e-2, 0.0, [[64], [8], [64]]), (1e-6, 0.02, [[64], [64], [8]])],
    ids=["short overtakes", "late does not"],
)
def test_an_arrival_stands_by_expected_finish(
    clock: Clock,
    gate: Gate,
    engine: FakeEngine,
    scheduler: Scheduler,
    seconds_per_token: float,
    delay: float,
    expected: list[list[int]],
) -> None:
    async def scenario() -> None:
        engine.seconds_per_token = seconds_per_token
        await teach(gate, engine, scheduler)
        long, late = Job([row(64), row(64)]), Job([row(8)])
        scheduler.submit([long])
        await gate.reached()
        clock.now += delay
        scheduler.submit([late])
        gate.open(3)
        await scheduler.wait(long)
        await scheduler.wait(late)
        assert engine.forwards == expected

    on_loop(scenario())


def test_of_jobs_behind_a_blocker_the_short_one_runs_first(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler
) -> None:
    async def scenario() -> None:
        engine.seconds_per_token = 1e-3
        blocker, long, short = Job([row(1)]), Job([row(64)]), Job([row(8)])
        scheduler.submit([blocker])
        await gate.reached()
        scheduler.submit([long])
        scheduler.submit([short])
        assert scheduler.depth == 2
        gate.open(3)
        for job in (blocker, long, short):
            await scheduler.wait(job)
        assert engine.forwards == [[1], [8], [64]]

    on_loop(scenario())


def test_a_job_is_answered_after_its_own_last_batch(gate: Gate, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        first, second = Job([row(1)]), Job([row(64), row(64)])
        scheduler.submit([first, second])
        gate.open()
        await scheduler.wait(first)
        assert scheduler.pending == (1, 128)
        gate.open(2)
        await scheduler.wait(second)

    on_loop(scenario())


def test_times_count_each_forward_once(clock: Clock, gate: Gate) -> None:
    async def scenario() -> None:
        engine = FakeEngine(rows_per_batch=2, gate=gate, clock=clock)
        engine.seconds_per_token = 0.5
        scheduler = Scheduler(engine, max_jobs=9, max_tokens=999, clock=clock)
        watched = Watched()
        scheduler.observe(watched)
        scheduler.start()
        blocker, job = Job([row(2)]), Job([row(1), row(3), row(2)])
        scheduler.submit([blocker])
        await gate.reached()
        scheduler.submit([job])
        clock.now = 200.0
        gate.open(3)
        await scheduler.wait(job)
        assert (job.enqueued, job.first_forward, job.last_forward_end) == (100.0, 201.0, 204.0)
        assert job.forward == pytest.approx(3.0)
        assert watched.waits == [0.0, 101.0]
        assert watched.forwards == [
            Forward(101.0, rows=1, tokens=2, length=8, padding=6),
            Forward(2.0, rows=2, tokens=4, length=8, padding=12),
            Forward(1.0, rows=1, tokens=2, length=8, padding=6),
        ]
        scheduler.stop()

    on_loop(scenario())


def test_equal_rows_that_share_a_slot_count_their_tokens_once(clock: Clock) -> None:
    class Sharing(FakeEngine):
        def batches(self, rows: Sequence[Row]) -> list[Batch]:
            return [Batch(tuple(range(len(rows))), (0,) * len(rows), 2, 8, 1)]

    async def scenario() -> None:
        scheduler = Scheduler(Sharing(), max_jobs=9, max_tokens=999, clock=clock)
        watched = Watched()
        scheduler.observe(watched)
        scheduler.start()
        await scheduler.run([row(5), row(5), row(5)])
        assert watched.forwards == [Forward(0.0, rows=3, tokens=5, length=8, padding=11)]
        scheduler.stop()

    on_loop(scenario())


def test_a_deadline_passed_before_planning_runs_nothing(
    clock: Clock, gate: Gate, engine: FakeEngine, scheduler: Scheduler
) -> None:
    async def scenario() -> None:
        watched = Watched()
        scheduler.observe(watched)
        blocker, late = Job([row(1)]), Job([row(2), row(3)], deadline=clock.now + 1)
        scheduler.submit([blocker])
        await gate.reached()
        scheduler.submit([late])
        clock.now += 1.5
        gate.open(9)
        assert await scheduler.wait(late) == [EXPIRED, EXPIRED]
        assert await outcome(scheduler, blocker) == "answered"
        assert engine.forwards == [[1]]
        assert watched.expired == [2]
        assert scheduler.pending == (0, 0)

    on_loop(scenario())


def test_a_deadline_between_forwards_takes_rows_that_already_ran(
    clock: Clock, gate: Gate, engine: FakeEngine, scheduler: Scheduler
) -> None:
    async def scenario() -> None:
        job = Job([row(2), row(3)], deadline=clock.now + 1)
        scheduler.submit([job])
        await gate.reached()
        clock.now += 2
        gate.open(1)
        assert await scheduler.wait(job) == [EXPIRED, EXPIRED]
        assert engine.forwards == [[2]]

    on_loop(scenario())


def test_a_forward_in_flight_is_not_interrupted_by_a_deadline(clock: Clock, gate: Gate, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        job = Job([row(2)], deadline=clock.now + 1)
        scheduler.submit([job])
        await gate.reached()
        clock.now += 2
        gate.open(1)
        assert values(await scheduler.wait(job)) == [[2, 2]]

    on_loop(scenario())


def test_a_batch_runs_while_one_owner_still_waits(clock: Clock, gate: Gate) -> None:
    async def scenario() -> None:
        engine = FakeEngine(gate=gate, clock=clock)
        scheduler = Scheduler(engine, max_jobs=9, max_tokens=999, clock=clock)
        scheduler.start()
        blocker, late, patient = Job([row(1)]), Job([row(2)], deadline=clock.now + 1), Job([row(3)])
        scheduler.submit([late, patient])
        await gate.reached()
        gate.open(1)
        assert await outcome(scheduler, late) == "answered"
        scheduler.submit([blocker])
        await gate.reached()
        late, patient = Job([row(2)], deadline=clock.now + 1), Job([row(3)])
        scheduler.submit([late, patient])
        clock.now += 2
        gate.open(2)
        assert await outcome(scheduler, late) == "expired"
        assert values(await scheduler.wait(patient)) == [[3, 3]]
        scheduler.stop()

    on_loop(scenario())


def test_cancelling_frees_the_queue_and_the_bounds_at_once(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler
) -> None:
    async def scenario() -> None:
        running = asyncio.create_task(scheduler.run([row(4), row(4)]))
        await gate.reached()
        queued = asyncio.create_task(scheduler.run([row(5)]))
        await until(lambda: scheduler.pending == (2, 13))
        queued.cancel()
        await asyncio.wait([queued])
        assert scheduler.pending == (1, 8)
        running.cancel()
        await asyncio.wait([running])
        assert (scheduler.pending, scheduler.depth) == ((0, 0), 0)
        gate.open(2)
        assert values(await scheduler.run([row(6)])) == [[6, 6]]
        assert engine.forwards == [[4], [6]], "the cancelled job's second batch is skipped"

    on_loop(scenario())


def test_cancelling_one_owner_leaves_the_other_its_batch(clock: Clock, gate: Gate) -> None:
    async def scenario() -> None:
        engine = FakeEngine(gate=gate)
        scheduler = Scheduler(engine, max_jobs=9, max_tokens=999, clock=clock)
        scheduler.start()
        leaver, stayer = Job([row(2)]), Job([row(3)])
        scheduler.submit([leaver, stayer])
        scheduler.cancel(leaver)
        scheduler.cancel(leaver)  # twice is harmless
        gate.open(1)
        assert values(await scheduler.wait(stayer)) == [[3, 3]]
        assert scheduler.pending == (0, 0)
        scheduler.stop()

    on_loop(scenario())


@pytest.mark.parametrize("error", [ValueError("bad shape"), MemoryError("no room"), ZeroDivisionError("x / 0")])
def test_an_exception_fails_only_the_jobs_of_its_batch(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler, error: Exception
) -> None:
    async def scenario() -> None:
        engine.failures[0] = error
        broken, whole = Job([row(2), row(2)]), Job([row(30)])
        scheduler.submit([broken, whole])
        gate.open(9)
        with pytest.raises(RequestFailed) as failed:
            await scheduler.wait(broken)
        assert failed.value.code is ErrorCode.INTERNAL_ERROR
        assert failed.value.message == f"{type(error).__name__}: {error}"
        assert values(await scheduler.wait(whole)) == [[30, 30]]
        assert engine.forwards == [[2], [30]], "the failed job's second batch is skipped"
        assert broken.last_forward_end is not None, "a failed forward counts in timing"
        assert scheduler.pending == (0, 0)

    on_loop(scenario())


def test_a_plan_that_raises_fails_the_jobs_it_took(gate: Gate, engine: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        gate.open(9)
        engine.plan_failure = RuntimeError("no bucket")
        with pytest.raises(RequestFailed, match="RuntimeError: no bucket"):
            await scheduler.run([row(2)])
        engine.plan_failure = None
        assert values(await scheduler.run([row(2)])) == [[2, 2]]

    on_loop(scenario())


@pytest.mark.parametrize("indices", [(), (0, 0), (1,)])
def test_a_plan_that_loses_or_repeats_rows_is_an_error(clock: Clock, indices: tuple[int, ...]) -> None:
    class Careless(FakeEngine):
        def batches(self, rows: Sequence[Row]) -> list[Batch]:
            return [Batch(indices, tuple(range(len(indices))), 1, rows[0].length, 1)]

    async def scenario() -> None:
        scheduler = Scheduler(Careless(), max_jobs=9, max_tokens=999, clock=clock)
        scheduler.start()
        with pytest.raises(RequestFailed, match="places"):
            await scheduler.run([row(2)])
        scheduler.stop()

    on_loop(scenario())


def test_a_forward_with_too_few_outputs_is_an_error(clock: Clock) -> None:
    class Silent(FakeEngine):
        def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
            return super().run(rows, batch)[1:]

    async def scenario() -> None:
        scheduler = Scheduler(Silent(), max_jobs=9, max_tokens=999, clock=clock)
        scheduler.start()
        with pytest.raises(RequestFailed, match="0 outputs for 1 rows"):
            await scheduler.run([row(2)])
        scheduler.stop()

    on_loop(scenario())


def test_the_worker_survives_what_no_engine_should_raise(gate: Gate, engine: FakeEngine, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        gate.open(9)
        engine.failures[0] = SystemExit("from a library")
        with pytest.raises(RequestFailed, match="SystemExit"):
            await scheduler.run([row(2)])
        assert scheduler.is_alive
        assert values(await scheduler.run([row(2)])) == [[2, 2]]

    on_loop(scenario())


def test_stop_fails_planned_and_queued_jobs_and_finishes_the_running_one(
    gate: Gate, engine: FakeEngine, scheduler: Scheduler
) -> None:
    async def scenario() -> None:
        ending, split = Job([row(1)]), Job([row(64), row(64)])
        scheduler.submit([ending, split])
        await gate.reached()
        queued = Job([row(3)])
        scheduler.submit([queued])
        stopping = asyncio.create_task(asyncio.to_thread(scheduler.stop))
        assert await outcome(scheduler, split) == "not_ready"
        assert await outcome(scheduler, queued) == "not_ready"
        with pytest.raises(RequestFailed, match="shutting down"):
            await scheduler.run([row(1)])
        with pytest.raises(RequestFailed, match="shutting down"):
            await scheduler.run([])
        gate.open(1)
        assert await outcome(scheduler, ending) == "answered"
        assert await stopping
        assert engine.forwards == [[1]]
        assert (scheduler.pending, scheduler.depth) == ((0, 0), 0)

    on_loop(scenario())


def test_stop_gives_up_on_a_forward_that_does_not_end(gate: Gate, scheduler: Scheduler) -> None:
    async def scenario() -> None:
        job = Job([row(1)])
        scheduler.submit([job])
        await gate.reached()
        assert not await asyncio.to_thread(scheduler.stop, 0.01)
        assert await outcome(scheduler, job) == "not_ready"
        gate.open(1)

    on_loop(scenario())


def test_a_caller_whose_loop_is_gone_does_no_harm(gate: Gate, scheduler: Scheduler) -> None:
    async def leave() -> None:
        scheduler.submit([Job([row(1)])])
        await gate.reached()

    asyncio.run(leave())
    gate.open(2)

    async def scenario() -> None:
        assert values(await scheduler.run([row(2)])) == [[2, 2]]

    on_loop(scenario())


def test_sixty_four_callers_get_their_own_answers() -> None:
    async def scenario() -> None:
        engine = FakeEngine(rows_per_batch=5)
        scheduler = Scheduler(engine, max_jobs=64, max_tokens=1 << 22)
        scheduler.start()

        async def caller(number: int) -> None:
            for turn in range(5):
                rows = [row(1 + (number + turn + index) % 7, number) for index in range(number % 4 + 1)]
                expected = [[each.length * number, each.length] for each in rows]
                assert values(await scheduler.run(rows)) == expected

        await asyncio.gather(*(caller(number) for number in range(64)))
        assert engine.most_at_once == 1
        assert scheduler.pending == (0, 0)
        scheduler.stop()

    on_loop(scenario())


def test_callers_on_many_threads_never_run_two_forwards_at_once() -> None:
    engine = FakeEngine(rows_per_batch=3)
    scheduler = Scheduler(engine, max_jobs=256, max_tokens=1 << 22)
    scheduler.start()

    def caller() -> None:
        async def requests() -> None:
            for _ in range(60):
                await scheduler.run([row(2), row(3)])

        asyncio.run(requests())

    threads = [threading.Thread(target=caller) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.most_at_once == 1
    assert sum(map(len, engine.forwards)) == 3 * 60 * 2
    assert scheduler.stop()


def test_cancels_deadlines_and_failures_in_any_mix_leave_nothing_behind() -> None:
    async def scenario() -> None:
        chance = random.Random(7)
        engine = FakeEngine(rows_per_batch=2)
        engine.failures.update({number: ValueError("odd") for number in range(0, 400, 9)})
        scheduler = Scheduler(engine, max_jobs=300, max_tokens=1 << 22)
        scheduler.start()

        async def caller() -> None:
            deadline = chance.choice([None, None, 0.0])
            rows = [row(chance.randint(1, 9)) for _ in range(chance.randint(0, 5))]
            task = asyncio.create_task(scheduler.run(rows, deadline))
            if chance.random() < 0.3:
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.wait([task])
            failed = None if task.cancelled() else task.exception()
            assert failed is None or isinstance(failed, RequestFailed)

        await asyncio.gather(*(caller() for _ in range(300)))
        assert scheduler.is_alive
        assert (scheduler.pending, scheduler.depth) == ((0, 0), 0)
        assert scheduler.stop()

    on_loop(scenario())
