"""Stand-ins for the model side: a clock moved by hand, an engine with gates, a model that counts letters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import Batch, Readout, Row

PATIENCE = 20.0  # seconds a test waits for something that must happen


def on_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine; fail rather than hang."""

    async def bounded() -> None:
        await asyncio.wait_for(coroutine, PATIENCE)

    asyncio.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    """Give the loop back until another thread has made the condition true."""
    while not condition():
        await asyncio.sleep(0.0005)


def row(length: int, value: int = 1) -> Row:
    """A row of `length` equal ids."""
    return Row(np.full(length, value, np.int32), Readout("sum", 1))


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """Holds each forward until the test lets it pass."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._permits = threading.Semaphore(0)

    def hold(self) -> None:
        """Called by the engine."""
        self._entered.release()
        assert self._permits.acquire(timeout=PATIENCE), "nobody opened the gate"

    async def reached(self) -> None:
        """Wait until a forward stands at the gate."""
        assert await asyncio.to_thread(self._entered.acquire, timeout=PATIENCE), "no forward came"

    def open(self, forwards: int = 1) -> None:
        """Let so many forwards pass."""
        self._permits.release(forwards)


class FakeEngine:
    """Sums each row's ids; a row's output is `[sum, length]`. Notes every forward's row lengths."""

    def __init__(self, *, rows_per_batch: int = 64, gate: Gate | None = None, clock: Clock | None = None) -> None:
        self.rows_per_batch = rows_per_batch
        self.gate = gate
        self.clock = clock
        self.seconds_per_token = 0.0
        self.forwards: list[list[int]] = []
        self.failures: dict[int, BaseException] = {}  # by number of the forward
        self.plan_failure: Exception | None = None
        self.most_at_once = 0
        self._at_once = 0

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """Cut the rows, as they come, into batches of `rows_per_batch`."""
        if self.plan_failure is not None:
            raise self.plan_failure
        cuts = range(0, len(rows), self.rows_per_batch)
        groups = [tuple(range(start, min(start + self.rows_per_batch, len(rows)))) for start in cuts]
        return [
            Batch(group, tuple(range(len(group))), len(group), max(rows[index].length for index in group), 1)
            for group in groups
        ]

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        """Sum, after the gate."""
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        lengths = [rows[index].length for index in batch.indices]
        self.forwards.append(lengths)
        number = len(self.forwards) - 1
        try:
            if self.gate is not None:
                self.gate.hold()
            if self.clock is not None:
                self.clock.now += self.seconds_per_token * sum(lengths)
            if number in self.failures:
                raise self.failures[number]
            return [np.array([rows[index].ids.sum(), rows[index].length], np.float32) for index in batch.indices]
        finally:
            self._at_once -= 1
