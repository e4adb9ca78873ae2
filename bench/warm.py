"""Waits until a server has built what it builds beside serving, so that it does not compile while it is measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

LEAST_QUIET: Final = 3.0  # seconds without a further bucket or row count
PATIENCE: Final = 3.0  # times the longest pause between two of them
MOST_SECONDS: Final = 600.0
POLL_SECONDS: Final = 0.25


class Carded(Protocol):
    """Something that shows model cards."""

    def cards(self) -> list[dict[str, Any]]:
        """Cards of the served models."""


def wait_until_settled(
    server: Carded, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> float:
    """Return when the buckets on the cards have stopped changing, or after ten minutes; the seconds waited."""
    begun = changed = clock()
    longest = 0.0
    known: list[Any] | None = None
    while (quiet := clock() - changed) < max(LEAST_QUIET, PATIENCE * longest) and clock() - begun < MOST_SECONDS:
        buckets = [card.get("buckets") for card in server.cards()]
        if buckets != known:
            longest = longest if known is None else max(longest, quiet)
            known, changed = buckets, clock()
        sleep(POLL_SECONDS)
    return clock() - begun
