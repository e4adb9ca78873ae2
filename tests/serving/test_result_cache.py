"""Kept results: the least recently used go first, by number and by bytes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from serving.result_cache import ResultCache


class Counts:
    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0

    def __call__(self, hits: int, misses: int) -> None:
        self.hits += hits
        self.misses += misses


def vector(value: float, size: int = 4) -> NDArray[np.float32]:
    return np.full(size, value, np.float32)


def test_least_recently_used_leaves() -> None:
    counts = Counts()
    cache = ResultCache(2, counts)
    cache.put(b"a", vector(1))
    cache.put(b"b", vector(2))
    cache.look_up([b"a"])
    cache.put(b"c", vector(3))
    a, b, c = cache.look_up([b"a", b"b", b"c"])
    assert b is None
    assert a is not None
    assert a[0] == 1
    assert c is not None
    assert len(cache) == 2
    assert (counts.hits, counts.misses) == (3, 1)


def test_bytes_are_bounded_too() -> None:
    cache = ResultCache(100, Counts(), max_bytes=40)
    for number in range(5):
        cache.put(bytes([number]), vector(number))  # 16 bytes each
    assert len(cache) == 2
    cache.put(b"huge", vector(1, 11))
    assert len(cache) == 2
    assert cache.look_up([b"huge"]) == [None]


def test_a_kept_result_is_a_read_only_copy() -> None:
    cache = ResultCache(2, Counts())
    batch = np.zeros((1000, 4), np.float32)
    cache.put(b"a", batch[3])
    (kept,) = cache.look_up([b"a"])
    assert kept is not None
    assert kept.base is None, "the batch is not held"
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1


def test_a_second_result_of_a_key_changes_nothing() -> None:
    cache = ResultCache(2, Counts(), max_bytes=20)
    cache.put(b"a", vector(1))
    cache.put(b"a", vector(1))
    assert len(cache) == 1
