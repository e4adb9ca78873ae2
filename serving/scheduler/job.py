"""One job: a request's rows for one model, from submission to its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from serving.errors import RequestFailed
from vela_jax.contract import EXPIRED, Missing, Result, Row, tokens_of


class Job:
    """Rows that are answered together, and the times of their forwards.

    Made on the event loop that waits for it. `deadline` is an instant of the scheduler's clock. Times are
    seconds of that clock; `forwards` are the starts and ends of the forwards that held rows of the job, each once.
    The worker thread writes the times before it delivers, so they are whole once `wait` returns or raises.
    Jobs of one request have the same `group`; `finish` is when the job is expected to be answered.
    """

    def __init__(self, rows: Sequence[Row], deadline: float | None = None) -> None:
        self.rows = rows
        self.deadline = deadline
        self.tokens = tokens_of(rows)
        self.group = 0
        self.enqueued = 0.0
        self.finish = 0.0
        self.forwards: list[tuple[float, float]] = []
        self.first_forward: float | None = None
        self.unrun = len(rows)
        self.closed = False
        self._results: list[Result] = [EXPIRED] * len(rows)
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[list[Result]] = self._loop.create_future()

    @property
    def forward(self) -> float:
        """Seconds of all its forwards."""
        return sum(ended - started for started, ended in self.forwards)

    @property
    def last_forward_end(self) -> float | None:
        """When the last of its forwards so far ended."""
        return self.forwards[-1][1] if self.forwards else None

    async def wait(self) -> list[Result]:
        """Give one result a row, in order. Raises RequestFailed when the job failed."""
        return await self._future

    def is_past_deadline(self, now: float) -> bool:
        """Tell whether the deadline has passed."""
        return self.deadline is not None and now > self.deadline

    def store(self, index: int, result: Result) -> None:
        """Keep the result of one row until the job is answered."""
        self._results[index] = result
        self.unrun -= 1

    def answer(self) -> None:
        """Deliver the stored results; may be called from any thread."""
        self._deliver(self._results, None)

    def expire(self) -> None:
        """Deliver the marker of a passed deadline for every row, those that already ran included."""
        expired: list[Missing] = [EXPIRED] * len(self.rows)
        self._deliver(expired, None)

    def fail(self, error: RequestFailed) -> None:
        """Deliver a failure."""
        self._deliver(None, error)

    def _deliver(self, results: Sequence[Result] | None, error: RequestFailed | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settle, results, error)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _settle(self, results: Sequence[Result] | None, error: RequestFailed | None) -> None:
        if self._future.done():
            return
        if error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(list(results or ()))
