"""`latency` and `load`: percentiles of a call and of the phases that the server reports, and requests a second."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.command import Benchmark, Workplace, add_serving, parameters, serve_arguments
from bench.load import COLUMNS, Summary, measure
from bench.process import Server, serving
from bench.report import Cell, Chart, Report, Table
from bench.warm import wait_until_settled
from bench.workload import MIXES, Mix, requests

WARM_CALLS: Final = 8
SHOWN: Final = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the result: who was asked what by how many."""

    model: str
    surface: str
    texts: str
    summary: Summary

    @property
    def label(self) -> str:
        """Short name in a chart."""
        return f"{self.model} {self.surface}\n{self.texts}, {self.summary.callers}"


def _add_latency(parser: argparse.ArgumentParser) -> None:
    add_serving(parser)
    parser.add_argument("--calls", type=int, default=200, help="calls of each kind (default 200)")
    parser.add_argument("--words", type=int, nargs="+", default=[8, 80], help="words of a text (default 8 80)")


def _latency(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    """One caller, texts of fixed lengths: where the time of a call goes."""
    mixes = {f"{words} words": Mix(words, words) for words in arguments.words}
    with serving(serve_arguments(arguments), workplace.folder / "serve.log") as server:
        found = list(_measure_all(server, mixes, [1], arguments.calls, workplace))
    return Report(
        benchmark="latency",
        parameters=parameters(arguments, ("models", "batching", "threads", "calls", "words")),
        tables=[_table("Milliseconds of a call, one caller", found)],
        charts=[_phase_chart(found)],
    )


def _add_load(parser: argparse.ArgumentParser) -> None:
    add_serving(parser)
    parser.add_argument("--calls", type=int, default=400, help="calls of each kind (default 400)")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 4, 16], help="callers at once (default 1 4 16)")
    parser.add_argument(
        "--mix", choices=sorted(MIXES), nargs="+", default=["short"], help="lengths of the texts (default short)"
    )


def _load(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    """Several callers, texts as in real traffic: requests a second and latency."""
    mixes = {name: MIXES[name] for name in arguments.mix}
    with serving(serve_arguments(arguments), workplace.folder / "serve.log") as server:
        found = list(_measure_all(server, mixes, arguments.callers, arguments.calls, workplace))
    rates = Chart("Requests a second", "requests/s", *_series(found, {"rate": [each.summary.rate for each in found]}))
    walls = {name: [each.summary.percentiles["wall"][share] for each in found] for share, name in SHOWN}
    return Report(
        benchmark="load",
        parameters=parameters(arguments, ("models", "batching", "threads", "calls", "callers", "mix")),
        tables=[_table("Milliseconds of a call, closed loop", found)],
        charts=[rates, Chart("Latency", "ms", *_series(found, walls), log=True)],
    )


def _measure_all(
    server: Server, mixes: dict[str, Mix], callers: Sequence[int], calls: int, workplace: Workplace
) -> Iterator[Measured]:
    for card in server.cards():
        for surface in card["surfaces"]:
            for name, mix in mixes.items():
                _warm(server, card, surface, mix, calls, workplace)
                for count in callers:
                    workplace.say(f"{card['id']} {surface}: {calls} calls, {name}, {count} callers")
                    sent = requests(card, surface, calls, mix, seed=2 + count)
                    yield Measured(card["id"], surface, name, measure(server.url, sent, count))


def _warm(server: Server, card: dict[str, Any], surface: str, mix: Mix, calls: int, workplace: Workplace) -> None:
    """Ask once for every bucket that the texts may need, and wait until the buckets stand."""
    workplace.say(f"{card['id']} {surface}: warming up")
    measure(server.url, requests(card, surface, min(calls, WARM_CALLS), mix, seed=1), 1)
    measure(server.url, requests(card, surface, 1, Mix(mix.most, mix.most), seed=1), 1)
    wait_until_settled(server)


def _table(title: str, found: Sequence[Measured]) -> Table:
    columns = ("model", "surface", "texts", "callers", "requests/s", "", *COLUMNS)
    table = Table(title, columns)
    for each in found:
        head: list[Cell] = [each.model, each.surface, each.texts, each.summary.callers, each.summary.rate]
        for share, name in SHOWN:
            table.rows.append([*head, name, *(each.summary.percentiles[column][share] for column in COLUMNS)])
    return table


def _series(found: Sequence[Measured], series: dict[str, list[float]]) -> tuple[list[str], dict[str, list[float]]]:
    return [each.label for each in found], series


def _phase_chart(found: Sequence[Measured]) -> Chart:
    shown = ("forward", "overhead", "own work", "wall")
    series = {name: [each.summary.percentiles[name][0.5] for each in found] for name in shown}
    return Chart("Where the time of a call goes (p50)", "ms", *_series(found, series), log=True)


LATENCY: Final = Benchmark("one caller: latency by phase", _add_latency, _latency)
LOAD: Final = Benchmark("several callers: requests a second and latency", _add_load, _load)
