"""`start`: from nothing compiled to ready, and again with what the first start left, by stage of loading."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.command import Benchmark, Workplace, add_serving, parameters, serve_arguments
from bench.figures import paired_ratio
from bench.process import serving
from bench.report import Chart, Report, Table

MIB: Final = 1 << 20
FIRST: Final = "first"
SECOND: Final = "second"
PROCESS: Final = "process and imports"


@dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds until ready, seconds by stage, largest memory."""

    ready_after: float
    stages: dict[str, float]
    peak_rss: int


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_serving(parser)
    parser.add_argument("--rounds", type=int, default=3, help="first and second starts (default 3 of each)")


def _run(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    starts: dict[str, list[Start]] = {FIRST: [], SECOND: []}
    for number in range(arguments.rounds):
        cache = workplace.folder / f"cache-{number}"
        for name, found in starts.items():
            workplace.say(f"round {number + 1} of {arguments.rounds}: {name} start")
            found.append(_start(serve_arguments(arguments, "--autotune-cache", str(cache)), workplace.folder))
    ratio = paired_ratio(*([each.ready_after for each in starts[name]] for name in (SECOND, FIRST)))
    return Report(
        benchmark="start",
        parameters=parameters(arguments, ("models", "batching", "threads", "rounds")),
        tables=[_ready_table(starts), _stage_table(starts)],
        charts=[_chart(starts)],
        notes=[f"second start / first start: {ratio}"],
    )


def _start(arguments: Sequence[str], folder: Path) -> Start:
    with serving(arguments, folder / "serve.log") as server:
        return Start(server.ready_after, stage_seconds(server.lines, server.ready_after), server.peak_rss())


def stage_seconds(lines: Sequence[tuple[float, str]], ready_after: float) -> dict[str, float]:
    """Seconds by stage, from the lines `<model>: <stage>[ <share> %]` that a server prints as it loads.

    What comes before the first of them is the process itself; a stage lasts until the next begins.
    """
    found: dict[str, float] = {}
    name, since = PROCESS, 0.0
    for instant, line in lines:
        model, colon, stage = line.partition(": ")
        if not colon or " " in model or instant > ready_after:
            continue
        found[name] = found.get(name, 0.0) + instant - since
        name, since = _without_share(stage), instant
    found[name] = found.get(name, 0.0) + ready_after - since
    return found


def _without_share(stage: str) -> str:
    words = stage.split()
    return " ".join(words[:-2]) if words[-1:] == ["%"] else stage


def _ready_table(starts: dict[str, list[Start]]) -> Table:
    table = Table("From start to ready", ("start", "seconds (median)", "least", "most", "peak RSS MiB"))
    for name, found in starts.items():
        seconds = [each.ready_after for each in found]
        peak = max(each.peak_rss for each in found) / MIB
        table.rows.append([name, median(seconds), min(seconds), max(seconds), peak])
    return table


def _stages(starts: dict[str, list[Start]]) -> list[str]:
    """Stages of any start, in the order of their coming."""
    return list(dict.fromkeys(stage for found in starts.values() for each in found for stage in each.stages))


def _stage_table(starts: dict[str, list[Start]]) -> Table:
    table = Table("Seconds by stage (median)", ("stage", FIRST, SECOND))
    for stage in _stages(starts):
        table.rows.append([stage, *(_median_of(starts[name], stage) for name in (FIRST, SECOND))])
    return table


def _median_of(found: Sequence[Start], stage: str) -> float:
    return median(each.stages.get(stage, 0.0) for each in found)


def _chart(starts: dict[str, list[Start]]) -> Chart:
    stages = _stages(starts)
    series = {name: [_median_of(found, stage) for stage in stages] for name, found in starts.items()}
    return Chart("Seconds by stage of a start", "s", [stage.replace(" ", "\n") for stage in stages], series)


START: Final = Benchmark("from start to ready, first and second", _add_arguments, _run)
