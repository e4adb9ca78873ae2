"""Thousands of requests: answers keep their bits beside a busy model, and the process does not grow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

import httpx
import psutil
import pytest

from tests.end_to_end.asking import classify, embed
from tests.end_to_end.server import Running

REPEATS: Final = 1000
REQUESTS: Final = 5000
SETTLED: Final = 500
"""Requests after which every shape has been asked for."""

SLACK: Final = 24 << 20
"""Bytes that the allocators of a process may keep beyond what it holds: the samples of one steady run lie so near."""

WORDS: Final = [
    "the",
    "river",
    "is",
    "long",
    "and",
    "the",
    "garden",
    "is",
    "green",
    "a",
    "small",
    "dog",
    "sat",
    "by",
    "the",
    "old",
    "road",
]


@contextmanager
def busy(url: str) -> Iterator[None]:
    """Another model that always has a text to read."""
    ended = threading.Event()

    def ask() -> None:
        random = Random(1)
        with httpx.Client(base_url=url, timeout=120) as client:
            while not ended.is_set():
                classify(client, "sequence", [text(random) for _ in range(random.randint(1, 4))])

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def text(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(1, 60)))


@pytest.mark.slow
def test_a_thousand_repeats_beside_a_busy_model_have_one_vector(client: httpx.Client, server: Running) -> None:
    random = Random(0)
    texts = [text(random) for _ in range(4)]
    first = [item["embedding"] for item in embed(client, "embedding", texts)]
    with busy(server.url):
        for _ in range(REPEATS):
            assert [item["embedding"] for item in embed(client, "embedding", texts)] == first


@pytest.mark.slow
def test_memory_stays_after_the_first_requests(
    client: httpx.Client, record_property: Callable[[str, object], None]
) -> None:
    random, process = Random(2), psutil.Process()
    settled = 0
    for index in range(REQUESTS):
        embed(client, "batched", [text(random) for _ in range(random.randint(1, 8))])
        if index == SETTLED:
            settled = process.memory_info().rss
    grown = process.memory_info().rss - settled
    record_property("MiB grown", grown / (1 << 20))
    assert grown < SLACK
