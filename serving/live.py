"""A running model: plans requests, has their rows run, assembles answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Final, TypeVar

import numpy as np

from serving.errors import RequestFailed
from serving.loaded import LoadedModel
from serving.result_cache import ResultCache
from serving.scheduler import STOPPING, Job, Scheduler, failure_of
from serving.timing import Timing
from vela_jax.contract import EXPIRED, Answer, DeviceFault, Plan, Result, Row, Surface

T = TypeVar("T")

LARGE: Final = 16_384
"""Encoded bytes of a body, or numbers of all results, from which work on them leaves the event loop."""


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

    async def answer(self, surface: Surface, request: Any, timing: Timing, size: int, deadline: float | None) -> Answer:
        """Answer a typed request whose body has about `size` encoded bytes; fills in the phases of `timing`.

        `deadline` is an instant of the monotonic clock. Raises InvalidRequest, UnsupportedSurface or RequestFailed.
        """
        plan, rows, keys = await self._here_or_on_pool(size > LARGE, lambda: self._plan(surface, request))
        timing.planned = time.monotonic()
        results = await self._results(rows, keys, deadline, timing)
        many = sum(result.size for result in results if isinstance(result, np.ndarray)) > LARGE
        answer = await self._here_or_on_pool(many or size > LARGE, lambda: plan.assemble(results))
        timing.assembled = time.monotonic()
        return answer

    def _plan(self, surface: Surface, request: Any) -> tuple[Plan, Sequence[Row], list[bytes]]:
        """Give the plan, its rows, and the keys of the rows where results are kept."""
        plan = self.loaded.model.plan(surface, request)
        rows = plan.rows
        return plan, rows, [row.content_key() for row in rows] if self._cache is not None else []

    async def _here_or_on_pool(self, on_pool: bool, work: Callable[[], T]) -> T:
        if on_pool:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        return work()

    async def _results(
        self, rows: Sequence[Row], keys: Sequence[bytes], deadline: float | None, timing: Timing
    ) -> list[Result]:
        """Take kept results, run the other rows, keep what they gave."""
        if self._cache is None:
            return await self._run(rows, deadline, timing)
        kept = self._cache.look_up(keys)
        missing = [index for index, result in enumerate(kept) if result is None]
        fresh = dict(zip(missing, await self._run([rows[index] for index in missing], deadline, timing), strict=True))
        for index, result in fresh.items():
            if isinstance(result, np.ndarray):
                self._cache.put(keys[index], result)
        return [fresh[index] if result is None else result for index, result in enumerate(kept)]

    async def _prepare(self, rows: Sequence[Row], deadline: float | None) -> bool:
        """Wait until the rows' buckets are open; false when their deadline passed before."""
        opening = self.loaded.engine.prepare(rows)
        if not opening:
            return True
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

    async def _run(self, rows: Sequence[Row], deadline: float | None, timing: Timing) -> list[Result]:
        """Run rows as one job; its times go into `timing` however it ends."""
        job = Job(rows, deadline)
        timing.submitted = time.monotonic()
        try:
            self.scheduler.admit([job])
            if not await self._prepare(rows, deadline):
                self.scheduler.note_expired(len(rows))
                return [EXPIRED] * len(rows)
            self.scheduler.enqueue([job])
            return await self.scheduler.wait(job)
        finally:
            self.scheduler.cancel(job)  # of no effect on one that was answered
            timing.answered = time.monotonic()
            timing.forward = job.forward
            timing.last_forward_end = job.last_forward_end
