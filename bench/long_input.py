"""`long`: a long text against one running server: time and memory growth by overflow policy."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any, Final

import httpx

from bench.command import Benchmark, Workplace, add_serving, parameters, serve_arguments
from bench.process import Server, serving
from bench.report import Chart, Report, Table
from bench.workload import takes_grounded, texts

MIB: Final = 1 << 20
LETTERS_A_WORD: Final = 7


@dataclass(frozen=True, slots=True)
class LongInput:
    """One long request: what came back, how long it took, by how much the process grew at its peak."""

    name: str
    outcome: str
    seconds: float
    growth_mib: float


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_serving(parser)
    parser.add_argument("--size-mib", type=float, default=5.0, help="size of the text (default 5)")


def _run(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    found: list[tuple[str, LongInput]] = []
    with serving(serve_arguments(arguments), workplace.folder / "serve.log") as server:
        for card in server.cards():
            if {"classify", "embeddings"} & set(card["surfaces"]):
                workplace.say(f"{card['id']}: a text of {arguments.size_mib:g} MiB")
                found += [(card["id"], row) for row in measure_long_inputs(server, card, arguments.size_mib)]
    table = Table("A long text by policy", ("model", "policy", "outcome", "seconds", "growth MiB"))
    table.rows.extend([name, row.name, row.outcome, row.seconds, row.growth_mib] for name, row in found)
    groups = [f"{name}\n{row.name}" for name, row in found]
    return Report(
        benchmark="long",
        parameters=parameters(arguments, ("models", "batching", "threads", "size_mib")),
        tables=[table],
        charts=[
            Chart("Time of the request", "s", groups, {"seconds": [row.seconds for _, row in found]}),
            Chart("Growth of memory", "MiB", groups, {"MiB": [row.growth_mib for _, row in found]}),
        ],
    )


def measure_long_inputs(server: Server, card: dict[str, Any], size_mib: float) -> list[LongInput]:
    """Ask a classify model or an embedder about one text of this size under each policy it has."""
    size = int(size_mib * MIB)
    text = next(texts(max(1, size // LETTERS_A_WORD), seed=7))[:size]
    found = []
    for name, options in _policies(card, card["limits"]["max_input_tokens"]):
        surface = "classify" if "classify" in card["surfaces"] else "embeddings"
        body = {"model": card["id"], "input": [text], "options": options}
        found.append(_ask(server, f"/v1/{surface}", name, body))
    return found


def _policies(card: dict[str, Any], limit: int) -> list[tuple[str, dict[str, Any]]]:
    policies: list[tuple[str, dict[str, Any]]] = [
        ("reject", {"overflow": "reject"}),
        ("truncate to 512", {"overflow": "truncate", "max_tokens": min(512, limit)}),
    ]
    if "classify" in card["surfaces"] and not takes_grounded(card):
        window = {"tokens": min(512, limit), "overlap": min(255, limit // 2)}
        policies.append(("window, over budget", {"overflow": "window", "window": window}))
    return policies


def _ask(server: Server, path: str, name: str, body: dict[str, Any]) -> LongInput:
    before = server.rss()
    begun = time.perf_counter()
    response = httpx.post(f"{server.url}{path}", json=body, timeout=600)
    seconds = time.perf_counter() - begun
    growth = max(0, server.peak_rss() - before) / MIB
    response.raise_for_status()
    members = response.json()
    (entry,) = members.get("results") or members["data"]
    return LongInput(name, entry.get("error", "answered"), seconds, growth)


LONG: Final = Benchmark("long texts by overflow policy: time and memory", _add_arguments, _run)
