"""Closed-loop load: so many callers, each sending its next request when its last one is answered."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import uvloop

from bench.client import Connection
from bench.figures import percentile

PHASES: Final = ("parse", "tokenize", "queue", "forward", "post", "serialize", "total")
COLUMNS: Final = (*PHASES, "overhead", "own work", "wall")
SHARES: Final = (0.5, 0.95, 0.99)
_ENTRY: Final = re.compile(r"([a-z]+);dur=([0-9.]+)")
_ITEM_ERROR: Final = b'"error"'

Request = tuple[str, bytes]  # path and JSON body


@dataclass(frozen=True, slots=True)
class Call:
    """One answered call, in milliseconds; `phases` are the server's own, empty where it names none."""

    wall: float
    phases: Mapping[str, float]
    answer: bytes = b""

    @property
    def overhead(self) -> float:
        """What a request spent beside the forward: its wait for the model, and the server's own work."""
        return self.phases["total"] - self.phases["forward"]

    @property
    def own_work(self) -> float:
        """What the server itself did: neither the forward nor the wait for it."""
        return self.overhead - self.phases["queue"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Percentiles of many calls in milliseconds, by column and share, and the rate of the loop."""

    calls: int
    callers: int
    rate: float  # answered calls a second
    percentiles: Mapping[str, Mapping[float, float]]


def measure(url: str, requests: Sequence[Request], callers: int) -> Summary:
    """Send every request once and sum up. Raises RuntimeError when a call or an item of it is not answered."""
    calls, seconds = send_all(url, requests, callers)
    return summarize(calls, callers, seconds)


def send_all(url: str, requests: Sequence[Request], callers: int, *, keep: bool = False) -> tuple[list[Call], float]:
    """Send every request once; the calls in the order of the requests, and the seconds that all took.

    `keep` keeps the answers. Raises RuntimeError when a call or an item of it is not answered.
    """
    return uvloop.run(_send_all(url, requests, callers, keep))


async def _send_all(url: str, requests: Sequence[Request], callers: int, keep: bool) -> tuple[list[Call], float]:
    found: dict[int, Call] = {}
    queue = iter(enumerate(requests))
    connections = await asyncio.gather(*(Connection.open(url) for _ in range(callers)))
    try:
        begun = time.perf_counter()
        await asyncio.gather(*(_caller(each, queue, found, keep) for each in connections))
        seconds = time.perf_counter() - begun
    finally:
        await asyncio.gather(*(each.close() for each in connections))
    return [found[index] for index in range(len(requests))], seconds


async def _caller(
    connection: Connection, queue: Iterator[tuple[int, Request]], found: dict[int, Call], keep: bool
) -> None:
    for index, (path, body) in queue:
        begun = time.perf_counter()
        reply = await connection.post(path, body)
        wall = 1000 * (time.perf_counter() - begun)
        if reply.status != 200 or _ITEM_ERROR in reply.body:
            raise RuntimeError(f"{path} answered {reply.status}: {reply.body[:300].decode('utf-8', 'replace')}")
        phases = read_phases(reply.headers.get("server-timing", ""))
        found[index] = Call(wall, phases, reply.body if keep else b"")


def read_phases(header: str) -> dict[str, float]:
    """Milliseconds by phase of a `Server-Timing` header."""
    return {name: float(value) for name, value in _ENTRY.findall(header)}


def summarize(calls: Sequence[Call], callers: int, seconds: float) -> Summary:
    """Percentiles of the calls' walls and, where the server names them, of its phases."""
    columns = {"wall": [call.wall for call in calls]}
    if all(call.phases for call in calls):
        columns |= {name: [call.phases[name] for call in calls] for name in PHASES}
        columns["overhead"] = [call.overhead for call in calls]
        columns["own work"] = [call.own_work for call in calls]
    found = {name: {share: percentile(values, share) for share in SHARES} for name, values in columns.items()}
    return Summary(len(calls), callers, len(calls) / seconds, found)
