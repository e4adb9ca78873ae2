"""Long texts against one running server: time and memory growth by overflow policy."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx

from bench.process import Server
from bench.workload import texts

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LongInput:
    """One long request: what came back, how long it took, by how much the process grew at its peak."""

    name: str
    outcome: str
    seconds: float
    growth_mib: float


def measure_long_inputs(server: Server, card: dict[str, Any], size: int) -> list[LongInput]:
    """Ask a classify model or an embedder about one text of `size` bytes under each policy it has."""
    text = next(texts(size // 7, seed=7))[:size]
    limit = card["limits"]["max_input_tokens"]
    found = []
    for name, options in _policies(card, limit):
        surface = "classify" if "classify" in card["surfaces"] else "embeddings"
        body = {"model": card["id"], "input": [text], "options": options}
        found.append(_ask(server, f"/v1/{surface}", name, body))
    return found


def _policies(card: dict[str, Any], limit: int) -> list[tuple[str, dict[str, Any]]]:
    policies: list[tuple[str, dict[str, Any]]] = [
        ("reject", {"overflow": "reject"}),
        ("truncate to 512", {"overflow": "truncate", "max_tokens": min(512, limit)}),
    ]
    if "classify" in card["surfaces"] and "grounded" not in card["heads"][0]["inputs"]:
        window = {"tokens": min(512, limit), "overlap": min(255, limit // 2)}
        policies.append(("window, over budget", {"overflow": "window", "window": window}))
    return policies


def _ask(server: Server, path: str, name: str, body: dict[str, Any]) -> LongInput:
    before = server.rss()
    started = time.perf_counter()
    response = httpx.post(f"{server.url}{path}", json=body, timeout=600)
    seconds = time.perf_counter() - started
    growth = max(0, server.peak_rss() - before) / MIB
    response.raise_for_status()
    members = response.json()
    (entry,) = members.get("results") or members["data"]
    return LongInput(name, entry.get("error", "answered"), seconds, growth)
