"""A running generator: a thread that steps its engine, and requests that wait for their tokens on the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Protocol

from serving.errors import ErrorCode, RequestFailed
from vela_jax.contract import DeviceFault
from vela_jax.generation.answers import Answers
from vela_jax.generation.requests import GenerateRequest
from vela_jax.generation.sequence import Delta, Generated
from vela_jax.generation.stopping import Finish

if TYPE_CHECKING:
    from vela_jax.generation.engine import TokenEngine
    from vela_jax.generation.plan import Planner

LARGE: Final = 16_384
"""Prompt tokens from which planning leaves the event loop."""
STOP_SECONDS: Final = 10.0

_log = logging.getLogger(__name__)


class Watcher(Protocol):
    """Hears of tokens; called on the engine's thread."""

    def first_token(self, seconds: float) -> None:
        """A sequence got its first token so long after it was submitted."""

    def next_token(self, seconds: float) -> None:
        """A sequence got a further token so long after the one before."""


class EngineThread:
    """Steps an engine as long as there is work. `on_fault` hears when the device is lost."""

    def __init__(self, engine: TokenEngine, name: str, on_fault: Callable[[DeviceFault], None]) -> None:
        self.engine = engine
        self._on_fault = on_fault
        self._work = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"generate-{name}", daemon=True)

    def start(self) -> None:
        """Start stepping."""
        self._thread.start()

    def wake(self) -> None:
        """There is work."""
        self._work.set()

    def stop(self) -> None:
        """End after the running step; what is under way ends with an error."""
        self._stopping = True
        self._work.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping:
            self._work.wait()
            self._work.clear()
            try:
                while not self._stopping and self.engine.step():
                    pass
            except DeviceFault as fault:
                self._on_fault(fault)
                break
            except Exception:
                _log.exception("a step of the engine failed")
                self.engine.fail_all()
        self._stopping = True
        self.engine.fail_all()


@dataclass(slots=True)
class Generator:
    """Answers generate requests of one model that is served under `name`."""

    name: str
    planner: Planner
    thread: EngineThread
    pool: Executor
    watcher: Watcher
    _arrivals: Any = field(default_factory=count)
    stopped: bool = False

    async def start(self, request: GenerateRequest, given: frozenset[str], request_id: str) -> Generation:
        """Plan a request and hand it to the engine. Raises BadValue, and RequestFailed when too many wait."""
        if self.stopped:
            raise RequestFailed(ErrorCode.NOT_READY, f"model {self.name} is shutting down")
        generation = Generation(self, asyncio.get_running_loop(), streams=bool(request.stream))
        arrival = next(self._arrivals) * 2**16  # room for the sequences of a request
        if len(request.token_ids) > LARGE:
            plan = (request, given, arrival, generation.take)
            sequences = await generation.loop.run_in_executor(self.pool, self.planner.sequences, *plan)
        else:
            sequences = self.planner.sequences(request, given, arrival, generation.take)
        options = self.planner.options
        waiting = self.thread.engine.load.waiting
        if waiting and waiting + len(sequences) > options.max_queued:
            raise RequestFailed(ErrorCode.OVERLOADED, f"{waiting} sequences wait already: try again later")
        generation.open(sequences)
        generation.answers = Answers(
            request,
            self.name,
            self.planner.profile.vocabulary,
            request_id=request_id,
            reports_cached=options.report_cached_tokens,
        )
        self.thread.engine.submit(sequences)
        self.thread.wake()
        return generation

    def stop(self) -> None:
        """Refuse what comes, end what is under way."""
        self.stopped = True
        self.thread.stop()


class Generation:
    """One request under way. Made and read on the event loop; the engine's thread calls `take`."""

    def __init__(self, generator: Generator, loop: asyncio.AbstractEventLoop, *, streams: bool) -> None:
        self.loop = loop
        self.answers: Answers
        self._generator = generator
        self._streams = streams
        self._arrived: asyncio.Queue[tuple[Generated, Delta]] = asyncio.Queue()
        self._sequences: list[Generated] = []
        self._deltas: dict[int, list[Delta]] = {}
        self._seen: dict[int, float] = {}
        self._started = time.monotonic()
        self._open = 0

    def open(self, sequences: list[Generated]) -> None:
        """Note the sequences before the engine gets them."""
        self._sequences = sequences
        self._deltas = {each.index: [] for each in sequences}
        self._open = len(sequences)

    def take(self, sequence: Generated, delta: Delta) -> None:
        """Take what a step added; called on the engine's thread."""
        now = time.monotonic()
        if delta.token_ids:
            before = self._seen.get(sequence.index)
            watcher = self._generator.watcher
            if before is None:
                watcher.first_token(now - self._started)
            else:
                watcher.next_token(now - before)
            self._seen[sequence.index] = now
        deltas = self._deltas[sequence.index]
        deltas.append(delta)
        if self._streams:
            self._tell(sequence, delta)
        elif delta.finish is not None:
            self._open -= 1
            if not self._open:
                self._tell(sequence, delta)

    async def whole(self) -> dict[str, Any]:
        """Wait for the end and give the answer. Raises RequestFailed when a sequence failed."""
        try:
            await self._arrived.get()
        finally:
            self.cancel()
        if any(each.finish is Finish.ERROR for each in self._sequences):
            raise _failed()
        return self.answers.whole(self._sequences, [self._deltas[each.index] for each in self._sequences])

    async def chunks(self) -> AsyncIterator[dict[str, Any]]:
        """Give the chunks of a stream as they come. Raises RequestFailed when a sequence failed."""
        first = True
        tokens = dict.fromkeys(self._deltas, 0)
        try:
            while self._open:
                sequence, delta = await self._arrived.get()
                tokens[sequence.index] += len(delta.token_ids)
                if delta.finish is Finish.ERROR:
                    raise _failed()
                if delta.finish is not None:
                    self._open -= 1
                chunk = self.answers.chunk(sequence, delta, first=first, tokens=tokens[sequence.index])
                if chunk is not None:
                    first = False
                    yield chunk
        finally:
            self.cancel()

    def usage_chunk(self) -> dict[str, Any]:
        """The chunk with the total usage."""
        return self.answers.usage_chunk(self._sequences)

    def cancel(self) -> None:
        """End what still runs; of no effect on sequences that have ended."""
        running = [each for each in self._sequences if each.finish is None]
        for each in running:
            each.aborted = True
        if running:
            self._generator.thread.wake()

    def _tell(self, sequence: Generated, delta: Delta) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._arrived.put_nowait, (sequence, delta))


def _failed() -> RequestFailed:
    return RequestFailed(ErrorCode.INTERNAL_ERROR, "Internal server error")
