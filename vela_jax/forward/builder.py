"""Opens buckets beside the serving of requests: those that a request waits for first, the others when it is quiet.

Quiet work that takes long is done in pieces: between two of them it calls `Builder.pause`, where it stands back for
requests.
"""

from __future__ import annotations

import atexit
import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

QUIET_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 5.0  # longest that quiet work waits for a quiet moment
SHARE: Final = 4.0  # seconds that a pause waits at most for each second of the piece before it

_log = logging.getLogger(__name__)


class Quiet:
    """Shared by the engines of a process: whether one of them runs, and whose turn it is to work in the background."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self._counting = threading.Lock()
        self._running = 0
        self._last_run = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """A request's forward runs meanwhile."""
        with self._counting:
            self._running += 1
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1
                self._last_run = time.monotonic()

    def seconds(self) -> float:
        """Seconds since a model last ran; 0 while one runs."""
        return 0.0 if self._running else time.monotonic() - self._last_run


@dataclass(order=True, slots=True)
class _Task:
    urgency: int  # 0: a request waits for it
    sequence: int
    work: Callable[[], None] = field(compare=False)
    future: Future[None] = field(compare=False)


class Builder:
    """A thread that does one piece of work after another, urgent ones first.

    Quiet work waits for a pause of all models, within bounds, and for the quiet work of other builders.
    """

    def __init__(self, name: str, quiet: Quiet) -> None:
        self._quiet = quiet
        self._tasks: list[_Task] = []
        self._sequence = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._piece_began = 0.0  # when the running work began or went on
        self._thread = threading.Thread(target=self._work, name=f"build {name}", daemon=True)
        self._started = False

    def add(self, work: Callable[[], None], *, urgent: bool) -> Future[None]:
        """Queue a piece of work; its future fails with whatever it raises."""
        future: Future[None] = Future()
        with self._changed:
            if self._closed:
                future.cancel()
                return future
            heapq.heappush(self._tasks, _Task(0 if urgent else 1, next(self._sequence), work, future))
            if not self._started:
                self._started = True
                # The interpreter must not end under a thread that compiles: it would take the process down.
                atexit.register(self.close, None)
                self._thread.start()
            self._changed.notify_all()
        return future

    def close(self, timeout: float | None = 0.0) -> None:
        """Begin nothing further and cancel what waits; wait so long for what runs now, which cannot be stopped."""
        with self._changed:
            self._closed = True
            tasks, self._tasks = self._tasks, []
            self._changed.notify_all()
        for task in tasks:
            task.future.cancel()
        if self._started:
            self._thread.join(timeout)
            if not self._thread.is_alive():
                atexit.unregister(self.close)

    def pause(self) -> None:
        """Called by quiet work between two pieces: does what is urgent, then waits for a quiet moment.

        It waits in proportion to the piece before, so that the work also goes on under steady load. Raises
        CancelledError when the builder was closed.
        """
        waits = min(PATIENCE_SECONDS, SHARE * (time.monotonic() - self._piece_began))
        until = time.monotonic() + waits
        while (task := self._urgent(until)) is not None:
            self._do(task)
        self._piece_began = time.monotonic()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            if task.urgency:
                self._do_in_turn(task)
            else:
                self._do(task)

    def _do_in_turn(self, task: _Task) -> None:
        """Quiet work, when no other builder does some; what is urgent does not wait for the turn."""
        try:
            while not self._quiet.turn.acquire(timeout=QUIET_SECONDS):
                while (urgent := self._urgent(until=0.0)) is not None:
                    self._do(urgent)
        except CancelledError:
            task.future.cancel()
            return
        try:
            self._do(task)
        finally:
            self._quiet.turn.release()

    def _do(self, task: _Task) -> None:
        if not task.future.set_running_or_notify_cancel():
            return
        self._piece_began = time.monotonic()
        try:
            task.work()
        except CancelledError as error:
            task.future.set_exception(error)
        except Exception as error:
            _log.warning("a bucket could not be built: %s", type(error).__name__)
            task.future.set_exception(error)
        else:
            task.future.set_result(None)

    def _urgent(self, until: float) -> _Task | None:
        """An urgent task as soon as there is one; None in a quiet moment or at the end of a time."""
        with self._changed:
            while not self._closed:
                if self._tasks and self._tasks[0].urgency == 0:
                    return heapq.heappop(self._tasks)
                if self._is_quiet() or (left := until - time.monotonic()) <= 0:
                    return None
                self._changed.wait(min(left, QUIET_SECONDS))
        raise CancelledError

    def _next(self) -> _Task | None:
        """The next task; quiet ones only in a quiet moment or when they have waited long enough."""
        with self._changed:
            waited = 0.0
            while not self._closed:
                if not self._tasks:
                    self._changed.wait()
                    waited = 0.0
                elif self._tasks[0].urgency == 0 or self._is_quiet() or waited >= PATIENCE_SECONDS:
                    return heapq.heappop(self._tasks)
                else:
                    self._changed.wait(QUIET_SECONDS)
                    waited += QUIET_SECONDS
            return None

    def _is_quiet(self) -> bool:
        return self._quiet.seconds() >= QUIET_SECONDS
