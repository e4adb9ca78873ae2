"""The `vela bench` command: measures, prints tables, writes JSON and a plot."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rich.console import Console

from bench.command import Benchmark, Workplace
from bench.decisions.command import DECISIONS
from bench.determinism import DETERMINISM
from bench.facts import machine_facts
from bench.generate import GENERATION
from bench.latency import LATENCY, LOAD
from bench.long_input import LONG
from bench.peers.command import PEERS
from bench.process import StartFailed
from bench.report import Report, save, show
from bench.starts import START
from serving.cli.failure import failing_on

RESULTS: Final = Path("bench/results")
PROMISE_BROKEN: Final = 1
PLAIN_WIDTH: Final = 200  # of tables that go into a file
BENCHMARKS: Final[Mapping[str, Benchmark]] = MappingProxyType(
    {
        "decisions": DECISIONS,
        "determinism": DETERMINISM,
        "generate": GENERATION,
        "latency": LATENCY,
        "load": LOAD,
        "long": LONG,
        "peers": PEERS,
        "start": START,
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    commands = parser.add_subparsers(title="benchmarks", metavar="WHAT", dest="what", required=True)
    for name, benchmark in BENCHMARKS.items():
        command = commands.add_parser(name, help=benchmark.text, description=benchmark.text, allow_abbrev=False)
        benchmark.add_arguments(command)
        command.add_argument(
            "--output", type=Path, default=RESULTS, metavar="DIR", help=f"where results go (default {RESULTS})"
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen benchmark; 0 unless a promise was broken."""
    console, progress = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH), Console(stderr=True)
    machine = machine_facts()
    if machine["busy"]:
        progress.print(f"the host is busy (load {machine['load_average']}): ratios hold better than times")
    with tempfile.TemporaryDirectory(prefix="vela-bench-") as folder:
        workplace = Workplace(Path(folder), lambda text: progress.print(text, markup=False, highlight=False))
        with failing_on(StartFailed):
            report = BENCHMARKS[arguments.what].run(arguments, workplace)
    show(report, console)
    _publish(report, machine, arguments.output, progress)
    return 0 if report.kept else PROMISE_BROKEN


def _publish(report: Report, machine: Mapping[str, object], folder: Path, progress: Console) -> None:
    """Write the JSON first: figures are not lost where plots cannot be drawn."""
    path = save(report, machine, folder)
    progress.print(f"wrote {path}", markup=False, highlight=False)
    try:
        from bench.plot import draw
    except ImportError as error:
        progress.print(f"no plot: {error.name} is not installed (pip install 'vela-jax[bench]')", markup=False)
        return
    progress.print(f"wrote {draw(report, path.with_suffix('.png'))}", markup=False, highlight=False)
