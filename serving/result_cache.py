"""Results of rows that a model has run, kept for equal rows of later requests (runtime rules, section 7)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_BYTES: Final = 256 * 1024 * 1024
"""Bound beside the number of entries: results of every token of a long text take a thousand times those of a label."""


class ResultCache:
    """The last used results by content key, at most `entries` of them and `max_bytes` in all.

    `count(hits, misses)` hears of every look-up. Used from the event loop only. Results are read-only: they
    are shared by the answers that use them.
    """

    def __init__(self, entries: int, count: Callable[[int, int], None], max_bytes: int = MAX_BYTES) -> None:
        self._entries = entries
        self._count = count
        self._max_bytes = max_bytes
        self._bytes = 0
        self._results: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._results)

    def look_up(self, keys: Sequence[bytes]) -> list[NDArray[np.float32] | None]:
        """The kept result of each key or None; those found count as used now."""
        found = [self._results.get(key) for key in keys]
        for key, result in zip(keys, found, strict=True):
            if result is not None:
                self._results.move_to_end(key)
        misses = sum(result is None for result in found)
        self._count(len(keys) - misses, misses)
        return found

    def put(self, key: bytes, result: NDArray[np.float32]) -> None:
        """Keep a copy of a result: what comes from a forward is often a slice that would hold the whole batch."""
        if key in self._results or result.nbytes > self._max_bytes:
            return
        kept = result.copy()
        kept.setflags(write=False)
        self._results[key] = kept
        self._bytes += kept.nbytes
        while len(self._results) > self._entries or self._bytes > self._max_bytes:
            _, dropped = self._results.popitem(last=False)
            self._bytes -= dropped.nbytes
