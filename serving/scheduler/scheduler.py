"""The worker thread of one model: jobs in, batches by expected finish, answers out (runtime rules, section 3)."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from serving.errors import RequestFailed
from serving.scheduler.admission import Admission
from serving.scheduler.events import Events, Forward, Unobserved
from serving.scheduler.faults import STOPPING, Failure, failure_of, refusal_after
from serving.scheduler.job import Job
from serving.scheduler.planning import Planned, plan
from serving.scheduler.speed import Speed
from vela_jax.contract import DeviceFault, Engine, Result, Row

JOIN_SECONDS: Final = 10.0
JOINABLE_ROWS: Final = 256
"""Waiting rows up to which arrivals join their batches; where more wait, batches are full without."""

_log = logging.getLogger(__name__)


class Scheduler:
    """Owns a model's engine and runs at most one of its forwards at a time.

    An idle model starts a lone job at once. Arrivals are taken between forwards and join the batches that wait;
    a job is answered when its own last row has run. `submit`, `run` and `cancel` are called on an event loop, `stop`
    on any other thread. `clock` gives seconds; deadlines are instants of it. `on_fault` hears, once and on the thread
    that met it, of a fault after which the scheduler takes no more work.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_jobs: int,
        max_tokens: int,
        name: str = "model",
        clock: Callable[[], float] = time.monotonic,
        on_fault: Callable[[DeviceFault], None] = lambda fault: None,  # noqa: ARG005
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._on_fault = on_fault
        self._events: Events = Unobserved()
        self._changed = threading.Condition()
        # Everything below is read and written under the condition's lock.
        self._admission = Admission(max_jobs, max_tokens)
        self._queue: list[Job] = []
        self._planned: list[Planned] = []
        self._running: Planned | None = None
        self._pending: dict[Job, None] = {}  # admitted and unanswered, in order of arrival
        self._groups = itertools.count()
        self._refusal: Failure | None = None  # why no more work is taken
        # The worker thread's own.
        self._speed = Speed()
        self._sequence = itertools.count()
        self._thread = threading.Thread(target=self._work, name=f"forward-{name}", daemon=True)

    @property
    def depth(self) -> int:
        """Queued jobs and planned batches."""
        with self._changed:
            return len(self._queue) + len(self._planned)

    @property
    def max_jobs(self) -> int:
        """Jobs that may be admitted and unanswered at once."""
        return self._admission.max_jobs

    @property
    def pending(self) -> tuple[int, int]:
        """Jobs and tokens that are admitted and unanswered."""
        with self._changed:
            return self._admission.jobs, self._admission.tokens

    @property
    def is_alive(self) -> bool:
        """Whether the worker thread runs."""
        return self._thread.is_alive()

    def observe(self, events: Events) -> None:
        """Tell `events` of the work from now on."""
        self._events = events

    def start(self) -> None:
        """Start the worker thread."""
        self._thread.start()

    async def run(self, rows: Sequence[Row], deadline: float | None = None) -> list[Result]:
        """Submit one job and wait for its results. Cancelling the caller cancels the job."""
        job = Job(rows, deadline)
        self.submit([job])
        return await self.wait(job)

    async def wait(self, job: Job) -> list[Result]:
        """Wait for a submitted job; cancelling the caller cancels the job at once."""
        try:
            return await job.wait()
        except asyncio.CancelledError:
            self.cancel(job)
            raise

    def submit(self, jobs: Sequence[Job]) -> None:
        """Admit all the jobs of one request or none, and let them run. Raises what `admit` raises."""
        self.admit(jobs)
        self.enqueue(jobs)

    def admit(self, jobs: Sequence[Job]) -> None:
        """Take all the jobs of one request into the bounds or none; they run once they are enqueued.

        Jobs without rows are answered at once and count nothing.
        Raises RequestFailed: `not_ready` after a stop or a fault, `overloaded` at a bound of admission.
        """
        with self._changed:
            if self._refusal is not None:
                raise RequestFailed(*self._refusal)
            runnable = [job for job in jobs if job.rows]
            self._admission.admit([job.tokens for job in runnable])
            now, group = self._clock(), next(self._groups)
            for job in runnable:
                job.enqueued, job.group = now, group
                self._pending[job] = None
        for job in jobs:
            if not job.rows:
                job.answer()

    def enqueue(self, jobs: Sequence[Job]) -> None:
        """Let admitted jobs run; those that were answered meanwhile stay answered."""
        with self._changed:
            self._queue += [job for job in jobs if job.rows and not job.closed]
            self._changed.notify()

    def cancel(self, job: Job) -> None:
        """Forget a job: it leaves the queue and the bounds at once; a forward under way is not interrupted."""
        with self._changed:
            if job.closed or job not in self._pending:
                return
            self._close(job)
            if job in self._queue:
                self._queue.remove(job)
            self._planned = [planned for planned in self._planned if planned.wanted]
            heapq.heapify(self._planned)

    def note_expired(self, rows: int) -> None:
        """Count rows whose deadline passed before they could be submitted."""
        self._events.rows_expired(rows)

    def stop(self, join_seconds: float = JOIN_SECONDS) -> bool:
        """Refuse new work, fail waiting work with `not_ready`, wait for the running forward.

        Jobs that the running forward completes are still answered. Returns whether the worker ended in time.
        """
        with self._changed:
            self._refuse(STOPPING, self._left_behind())
        if self._thread.ident is not None:
            self._thread.join(join_seconds)
        with self._changed:
            self._fail(list(self._pending), STOPPING)
        return not self._thread.is_alive()

    def note_fault(self, fault: DeviceFault, hit: Sequence[Job] = ()) -> None:
        """Take no more work after a fault of the device; fail what waits, but for the jobs it hit. From any thread."""
        with self._changed:
            if self._refusal is not None:
                return
            self._refuse(refusal_after(fault), [job for job in self._pending if job not in hit])
        self._on_fault(fault)

    def _refuse(self, refusal: Failure, jobs: Sequence[Job]) -> None:
        """Refuse work from now on and fail the given jobs. Called under the lock."""
        self._refusal = refusal
        self._fail(jobs, refusal)
        self._queue.clear()
        self._planned.clear()
        self._changed.notify()

    def _left_behind(self) -> list[Job]:
        """Pending jobs that the running forward does not complete."""
        running = Counter(job for job, _ in self._running.owners) if self._running else Counter()
        return [job for job in self._pending if running[job] < job.unrun]

    def _work(self) -> None:
        """Run until stopped. Nothing that a job or the engine does ends the thread."""
        while self._await_work():
            try:
                self._step()
            except BaseException as error:
                _report(error)
                with self._changed:
                    self._running = None
                    self._fail(list(self._pending), failure_of(error, alone=False))

    def _await_work(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._planned or self._refusal)
            return self._refusal is None

    def _step(self) -> None:
        """Take what arrived, then run the batch that is due first."""
        taken = self._take()
        if taken:
            self._plan(taken)
        planned = self._next()
        if planned is not None:
            self._run(planned)

    def _take(self) -> list[Job]:
        with self._changed:
            taken, self._queue = self._queue, []
            self._expire(taken)
            return [job for job in taken if not job.closed]

    def _plan(self, jobs: list[Job]) -> None:
        """Plan jobs taken together, and with them what waits; a plan that fails fails the jobs alone."""
        for job in jobs:
            job.finish = job.enqueued + job.tokens * self._speed.seconds_per_token
        waiting = self._joinable()
        owners = [owner for planned in waiting for owner in planned.owners if not owner[0].closed]
        owners += [(job, index) for job in jobs for index in range(len(job.rows))]
        owners.sort(key=lambda owner: owner[0].finish)
        try:
            planned = plan(self._engine, owners, self._sequence)
        except Exception as error:
            _report(error)
            with self._changed:
                self._fail(jobs, failure_of(error, alone=False))
            return
        with self._changed:
            if self._refusal is None:
                kept = [] if waiting else self._planned
                self._planned = [each for each in (*kept, *planned) if each.wanted]
                heapq.heapify(self._planned)

    def _joinable(self) -> list[Planned]:
        """All waiting batches when few rows wait in them, else none."""
        with self._changed:
            few = sum(len(planned.owners) for planned in self._planned) <= JOINABLE_ROWS
            return sorted(self._planned) if few else []

    def _next(self) -> Planned | None:
        """Pop the first batch that somebody still waits for."""
        with self._changed:
            while self._planned:
                planned = heapq.heappop(self._planned)
                self._expire(planned.jobs)
                if planned.wanted:
                    self._running = planned
                    return planned
            return None

    def _run(self, planned: Planned) -> None:
        """Run a batch; an exception fails the jobs that have rows in it and nobody else."""
        started = self._clock()
        for job in planned.jobs:
            if job.first_forward is None:
                job.first_forward = started
                self._events.job_started(started - job.enqueued)
        try:
            outputs = self._engine.run(planned.rows, planned.batch)
            if len(outputs) != len(planned.owners):
                raise ValueError(f"the forward gave {len(outputs)} outputs for {len(planned.owners)} rows")
        except Exception as error:
            _report(error)
            self._finish(planned, started)
            if isinstance(error, DeviceFault):
                self.note_fault(error, planned.jobs)
            with self._changed:
                self._running = None
                self._fail(planned.jobs, failure_of(error, alone=not planned.is_shared))
        else:
            seconds = self._finish(planned, started)
            self._speed.learn(seconds, planned.tokens)
            self._hand_out(planned, outputs)

    def _finish(self, planned: Planned, started: float) -> float:
        """Count a forward that just ended, in its jobs too; give its seconds."""
        ended = self._clock()
        for job in planned.jobs:
            job.forwards.append((started, ended))
        batch, tokens = planned.batch, planned.tokens
        padding = batch.positions - tokens
        self._events.forward_done(Forward(ended - started, len(planned.owners), tokens, batch.length, padding))
        return ended - started

    def _hand_out(self, planned: Planned, outputs: list[NDArray[np.float32]]) -> None:
        """Store the outputs of a forward and answer the jobs that it completed."""
        with self._changed:
            self._running = None
            for (job, index), output in zip(planned.owners, outputs, strict=True):
                job.store(index, output)
            for job in planned.jobs:
                if job.unrun == 0 and not job.closed:
                    self._close(job)
                    job.answer()

    def _expire(self, jobs: Sequence[Job]) -> None:
        """Answer the jobs whose deadline has passed. Called under the lock."""
        now = self._clock()
        for job in jobs:
            if not job.closed and job.is_past_deadline(now):
                self._close(job)
                self._events.rows_expired(len(job.rows))
                job.expire()

    def _fail(self, jobs: Sequence[Job], failure: Failure) -> None:
        """Fail the jobs that are still open. Called under the lock."""
        for job in jobs:
            if not job.closed:
                self._close(job)
                job.fail(RequestFailed(*failure))

    def _close(self, job: Job) -> None:
        """Take a job out of the bounds; whoever closes a job answers it. Called under the lock."""
        job.closed = True
        self._pending.pop(job)
        self._admission.release(job.tokens)


def _report(error: BaseException) -> None:
    """Log where an error happened, without its text: that may quote a request."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s while running a model\n%s", type(error).__name__, frames)
