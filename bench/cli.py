"""The `vela bench` command: starts a server, measures, prints tables."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from bench.determinism import distinct_answers
from bench.latency import PHASES, Summary, measure
from bench.long_input import MIB, measure_long_inputs
from bench.process import Server, serving
from bench.workload import PATHS, bodies

WARM_CALLS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("what", choices=sorted(COMMANDS), nargs="?", default="latency", help="what to measure")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models to serve (default: the embedded one)")
    parser.add_argument("--calls", type=int, default=200, help="calls of each kind (default 200)")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 4], help="callers at once (default 1 4)")
    parser.add_argument("--words", type=int, nargs="+", default=[8, 80], help="words of a text (default 8 80)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of `determinism` (default 3)")
    parser.add_argument("--size-mib", type=float, default=5.0, help="size of the text of `long` (default 5)")
    parser.add_argument("--batching", choices=["exact", "throughput"], help="how the served models batch")


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen benchmark; 0 unless a promise was broken."""
    with tempfile.TemporaryDirectory(prefix="vela-bench-") as folder:
        return COMMANDS[arguments.what](arguments, Path(folder), Console())


def _serve_arguments(arguments: argparse.Namespace, *extra: str) -> list[str]:
    batching = ["--batching", arguments.batching] if arguments.batching else []
    return [*arguments.models, *batching, "--result-cache-entries", "0", *extra]


def _latency(arguments: argparse.Namespace, folder: Path, console: Console) -> int:
    """Latency by model, surface, words and callers."""
    table = Table("model", "surface", "words", "callers", "calls/s", "", *PHASES, "overhead", "wall")
    with serving(_serve_arguments(arguments), folder / "serve.log") as server:
        for card in server.cards():
            for surface in card["surfaces"]:
                asyncio.run(_measure_surface(server, card, surface, arguments, table, console))
    console.print(table)
    return 0


async def _measure_surface(
    server: Server, card: dict[str, Any], surface: str, arguments: argparse.Namespace, table: Table, console: Console
) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as client:
        for words in arguments.words:
            await measure(client, PATHS[surface], bodies(card, surface, WARM_CALLS, words, seed=1), 1)
            for callers in arguments.callers:
                console.print(f"{card['id']} {surface}: {arguments.calls} calls of {words} words, {callers} callers")
                sent = bodies(card, surface, arguments.calls, words, seed=2 + callers)
                found = await measure(client, PATHS[surface], sent, callers)
                _add_rows(table, [card["id"], surface, str(words), str(callers)], found)


def _add_rows(table: Table, head: Sequence[str], found: Summary) -> None:
    columns = (*PHASES, "overhead", "wall")
    table.add_row(*head, f"{found.rate:.1f}", "p50", *(f"{found.p50[name]:.3f}" for name in columns))
    table.add_row(*[""] * len(head), "", "p95", *(f"{found.p95[name]:.3f}" for name in columns))


def _start(arguments: argparse.Namespace, folder: Path, console: Console) -> int:
    """Start to ready with an empty cache of executables, then again with what the first start left."""
    table = Table("start", "ready after s", "peak RSS MiB")
    cache = folder / "compiled"
    for name in ("first (nothing compiled)", "second"):
        with serving(_serve_arguments(arguments, "--autotune-cache", str(cache)), folder / "serve.log") as server:
            table.add_row(name, f"{server.ready_after:.2f}", f"{server.peak_rss() / MIB:.0f}")
    console.print(table)
    return 0


def _long(arguments: argparse.Namespace, folder: Path, console: Console) -> int:
    """A long text by overflow policy."""
    table = Table("model", "policy", "outcome", "seconds", "growth MiB")
    with serving(_serve_arguments(arguments), folder / "serve.log") as server:
        for card in server.cards():
            if {"classify", "embeddings"} & set(card["surfaces"]):
                for row in measure_long_inputs(server, card, int(arguments.size_mib * MIB)):
                    table.add_row(card["id"], row.name, row.outcome, f"{row.seconds:.2f}", f"{row.growth_mib:.0f}")
    console.print(table)
    return 0


def _determinism(arguments: argparse.Namespace, folder: Path, console: Console) -> int:
    """Distinct answers of one text; more than one breaks the promise."""
    table = Table("text", "distinct answers")
    found = distinct_answers(_serve_arguments(arguments), folder, arguments.repeats)
    for name, count in found.items():
        table.add_row(name, str(count))
    console.print(table)
    return 0 if set(found.values()) == {1} else 1


COMMANDS = {"determinism": _determinism, "latency": _latency, "long": _long, "start": _start}
