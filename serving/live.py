"""A running model: plans requests, has their rows run, assembles answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import numpy as np

from serving.errors import RequestFailed
from serving.loaded import LoadedModel
from serving.result_cache import ResultCache
from serving.scheduler import STOPPING, Job, Scheduler, failure_of
from serving.timing import Timing
from vela_jax.contract import EXPIRED, Answer, DeviceFault, Model, Plan, Result, Row
from vela_jax.surfaces.deadline import running_until

T = TypeVar("T")

LARGE: Final = 16_384
"""Encoded bytes of a body, or numbers of all results, from which work on them leaves the event loop."""


Outcome = Answer | Exception
"""What became of one plan; an exception says how it is refused."""


class Ask(Protocol):
    """One surface request of a call: what it plans on a model, and until when its rows may run."""

    @property
    def deadline(self) -> float | None:
        """An instant of the monotonic clock."""

    def plan(self, model: Model) -> Sequence[Plan | Exception]:
        """Read and plan: one plan a state of a decisions request, one of any other; an exception for what fails alone.

        Raises what refuses the whole ask.
        """


@dataclass(slots=True)
class _Part:
    """A plan with its rows, the kept results of some, and the job that runs the others."""

    plan: Plan
    rows: Sequence[Row]
    keys: Sequence[bytes]
    deadline: float | None
    results: list[Result | None] = field(default_factory=list)
    failure: Exception | None = None


_Planned = Sequence[_Part | Exception] | Exception


class LiveModel:
    """A loaded model with its scheduler, and a cache of its results where one is kept.

    `pool` runs the planning of large requests. Used from one event loop.
    """

    def __init__(
        self, loaded: LoadedModel, scheduler: Scheduler, pool: Executor, cache: ResultCache | None = None
    ) -> None:
        self.loaded = loaded
        self.scheduler = scheduler
        self._pool = pool
        self._cache = cache

    async def answer_all(self, asks: Sequence[Ask], timing: Timing, size: int) -> list[Sequence[Outcome] | Exception]:
        """Answer the asks of one call whose bodies have about `size` encoded bytes; fills in the phases of `timing`.

        Their jobs are admitted together or refused together. Gives, for each ask, an outcome a plan, or the
        exception that refuses it whole.
        """
        planned = await self.here_or_on_pool(size > LARGE, lambda: [self._plan(ask) for ask in asks])
        timing.planned = time.monotonic()
        parts = [
            part for each in planned if not isinstance(each, Exception) for part in each if isinstance(part, _Part)
        ]
        await self._run(parts, timing)
        many = sum(result.size for part in parts for result in part.results if isinstance(result, np.ndarray)) > LARGE
        outcomes = await self.here_or_on_pool(many or size > LARGE, lambda: [_assemble(each) for each in planned])
        timing.assembled = time.monotonic()
        return outcomes

    def _plan(self, ask: Ask) -> _Planned:
        try:
            with running_until(ask.deadline):
                planned = ask.plan(self.loaded.model)
            return [plan if isinstance(plan, Exception) else self._part(plan, ask.deadline) for plan in planned]
        except Exception as error:
            return error

    def _part(self, plan: Plan, deadline: float | None) -> _Part:
        """A plan with its rows, and their keys where results are kept."""
        rows = plan.rows
        return _Part(plan, rows, [row.content_key() for row in rows] if self._cache is not None else [], deadline)

    async def here_or_on_pool(self, on_pool: bool, work: Callable[[], T]) -> T:
        """Do some work at once, or where large requests are worked on."""
        if on_pool:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        return work()

    async def _run(self, parts: Sequence[_Part], timing: Timing) -> None:
        """Take kept results, run the other rows as one job a part; their times go into `timing` however it ends."""
        for part in parts:
            part.results = list(self._cache.look_up(part.keys)) if self._cache is not None else [None] * len(part.rows)
        missing = [[index for index, result in enumerate(part.results) if result is None] for part in parts]
        jobs = [
            Job([part.rows[index] for index in left], part.deadline) for part, left in zip(parts, missing, strict=True)
        ]
        timing.submitted = time.monotonic()
        try:
            self.scheduler.admit(jobs)
            found = await self._settle(jobs)
        except RequestFailed as refusal:
            found = [refusal] * len(jobs)
        finally:
            for job in jobs:
                self.scheduler.cancel(job)  # of no effect on one that was answered
            _note_times(jobs, timing)
        for part, left, outcome in zip(parts, missing, found, strict=True):
            if isinstance(outcome, BaseException):
                part.failure = outcome if isinstance(outcome, Exception) else RequestFailed(*STOPPING)
            else:
                self._take_in(part, left, outcome)

    def _take_in(self, part: _Part, missing: Sequence[int], results: Sequence[Result]) -> None:
        """Put fresh results in their places and keep them."""
        for index, result in zip(missing, results, strict=True):
            part.results[index] = result
            if self._cache is not None and isinstance(result, np.ndarray):
                self._cache.put(part.keys[index], result)

    async def _settle(self, jobs: Sequence[Job]) -> list[list[Result] | BaseException]:
        """Let admitted jobs run, those together whose buckets are open; give the results or the failure of each."""
        opening = [self.loaded.engine.prepare(job.rows) for job in jobs]
        self.scheduler.enqueue([job for job, waits in zip(jobs, opening, strict=True) if not waits])
        finishing = [self._finish(job, waits) for job, waits in zip(jobs, opening, strict=True)]
        if len(finishing) > 1:
            return await asyncio.gather(*finishing, return_exceptions=True)
        return [await each for each in finishing]

    async def _finish(self, job: Job, opening: Sequence[Future[None]]) -> list[Result]:
        """Wait for a job's buckets and then for its results."""
        if opening:
            if not await self._await_buckets(opening, job.deadline):
                self.scheduler.note_expired(len(job.rows))
                return [EXPIRED] * len(job.rows)
            self.scheduler.enqueue([job])
        return await self.scheduler.wait(job)

    async def _await_buckets(self, opening: Sequence[Future[None]], deadline: float | None) -> bool:
        """Wait until buckets are open; false when the deadline passed before."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        done, waiting = await asyncio.wait([asyncio.wrap_future(each) for each in opening], timeout=left)
        for each in done:
            if each.cancelled():
                raise RequestFailed(*STOPPING)
            error = each.exception()
            if isinstance(error, DeviceFault):
                self.scheduler.note_fault(error)
            if error is not None:
                raise RequestFailed(*failure_of(error, alone=True))
        return not waiting


def _assemble(planned: _Planned) -> Sequence[Outcome] | Exception:
    return planned if isinstance(planned, Exception) else [_assemble_part(part) for part in planned]


def _assemble_part(part: _Part | Exception) -> Outcome:
    if isinstance(part, Exception):
        return part
    if part.failure is not None:
        return part.failure
    try:
        return part.plan.assemble([result for result in part.results if result is not None])
    except Exception as error:
        return error


def _note_times(jobs: Iterable[Job], timing: Timing) -> None:
    """Forwards that several jobs share count once: jobs of one call mostly run together."""
    timing.answered = time.monotonic()
    forwards = {forward: None for job in jobs for forward in job.forwards}
    timing.forward = sum(ended - started for started, ended in forwards)
    timing.last_forward_end = max((ended for _, ended in forwards), default=None)
