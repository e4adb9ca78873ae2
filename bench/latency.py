"""Closed-loop latency of one kind of request: p50 and p95 of the call and of each phase the server reports."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import httpx

PHASES = ("parse", "tokenize", "queue", "forward", "post", "serialize", "total")
_ENTRY = re.compile(r"([a-z]+);dur=([0-9.]+)")


@dataclass(frozen=True, slots=True)
class Call:
    """One answered call, in milliseconds; `phases` are the server's own."""

    wall: float
    phases: Mapping[str, float]

    @property
    def overhead(self) -> float:
        """What the server spent beside the forward."""
        return self.phases["total"] - self.phases["forward"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Percentiles of many calls, in milliseconds, and the rate of the loop."""

    calls: int
    callers: int
    rate: float
    p50: Mapping[str, float]
    p95: Mapping[str, float]


async def measure(client: httpx.AsyncClient, path: str, bodies: list[dict[str, Any]], callers: int) -> Summary:
    """Send every body once, `callers` at a time over kept connections. Raises when a call is not answered with 200."""
    queue = iter(bodies)
    calls: list[Call] = []

    async def caller() -> None:
        calls.extend([await _call(client, path, body) for body in queue])

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return _summarize(calls, callers, time.perf_counter() - started)


async def _call(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Call:
    started = time.perf_counter()
    response = await client.post(path, json=body)
    wall = 1000 * (time.perf_counter() - started)
    if response.status_code != 200:
        raise RuntimeError(f"{path} answered {response.status_code}: {response.text[:300]}")
    return Call(wall, read_phases(response.headers["server-timing"]))


def read_phases(header: str) -> dict[str, float]:
    """Milliseconds by phase of a `Server-Timing` header."""
    return {name: float(value) for name, value in _ENTRY.findall(header)}


def percentile(values: list[float], share: float) -> float:
    """Nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _summarize(calls: list[Call], callers: int, seconds: float) -> Summary:
    columns = {name: [call.phases[name] for call in calls] for name in PHASES}
    columns |= {"overhead": [call.overhead for call in calls], "wall": [call.wall for call in calls]}
    return Summary(
        calls=len(calls),
        callers=callers,
        rate=len(calls) / seconds,
        p50={name: median(values) for name, values in columns.items()},
        p95={name: percentile(values, 0.95) for name, values in columns.items()},
    )
