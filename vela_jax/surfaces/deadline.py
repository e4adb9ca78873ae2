"""The deadline of the request that is being planned: planning a huge one stops when nobody wants its answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_DEADLINE: Final[ContextVar[float | None]] = ContextVar("deadline", default=None)


@contextmanager
def running_until(deadline: float | None) -> Iterator[None]:
    """Let what is planned in the block know its deadline, an instant of the monotonic clock."""
    token = _DEADLINE.set(deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def is_past_deadline() -> bool:
    """Whether the deadline of what is being planned has passed; an item not planned by then has failed by it."""
    deadline = _DEADLINE.get()
    return deadline is not None and time.monotonic() > deadline
