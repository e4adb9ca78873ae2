"""What the benchmarks of the command line share: their place to work, and options of the served models."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import Report
from checkpoints.tables.embedded import MINILM

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder that goes away with the run, and how to tell the reader what is being done."""

    folder: Path
    say: Say


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of the command line: what it measures, its options, and the run."""

    text: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Workplace], Report]


def add_models(parser: argparse.ArgumentParser, default: str = MINILM.name) -> None:
    """The models to serve."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"models to serve (default: {default})")


def add_serving(parser: argparse.ArgumentParser) -> None:
    """The models to serve and how they run."""
    add_models(parser)
    parser.add_argument("--batching", choices=["exact", "throughput"], help="how the served models batch")
    parser.add_argument("--threads", type=int, help="CPU threads of a forward (default: all)")


def serve_arguments(arguments: argparse.Namespace, *extra: str) -> list[str]:
    """Arguments of `vela serve` for models that are measured: no result is kept."""
    given: list[str] = [*(arguments.models or [MINILM.name]), "--result-cache-entries", "0"]
    if arguments.batching:
        given += ["--batching", arguments.batching]
    if arguments.threads:
        given += ["--threads", str(arguments.threads)]
    return [*given, *extra]


def parameters(arguments: argparse.Namespace, names: Sequence[str]) -> Mapping[str, Any]:
    """Options as a report shows them: of paths the last part only."""
    return {name: _shown(getattr(arguments, name)) for name in names}


def _shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_shown(member) for member in value]
    return Path(value).name if isinstance(value, str | Path) else value
