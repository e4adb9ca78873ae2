"""One server in this process with a tiny model a surface, given to benchmarks in place of those they would start."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.command import Benchmark, Workplace
from bench.process import Server
from checkpoints.fixtures import write_fixture
from serving.config import ModelEntry
from tests.end_to_end.server import FEW_BUCKETS, running

VARIANTS = ("sequence", "grounded", "nli", "embedding", "reranker")
Start = Callable[..., object]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one model a surface."""
    folder = tmp_path_factory.mktemp("packages")
    for variant in VARIANTS:
        write_fixture(folder / variant, variant)
    entries = [ModelEntry(model=str(folder / variant)) for variant in VARIANTS]
    with running(entries, args=FEW_BUCKETS) as found:
        process = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
        lines = [(0.1, "listening on http://127.0.0.1:1"), (0.5, "m: starting JAX"), (0.7, "m: reading 50 %")]
        yield Server(process, found.url, folder / "log", ready_after=2.0, lines=lines)  # type: ignore[arg-type]


@pytest.fixture
def start(server: Server) -> Start:
    """Stands for `serving`: gives the running server whatever its arguments are, and keeps them in `asked`."""
    asked: list[Sequence[str]] = []

    @contextmanager
    def serving(arguments: Sequence[str], log: Path) -> Iterator[Server]:
        assert log.parent.is_dir()
        asked.append(arguments)
        yield server

    serving.asked = asked  # type: ignore[attr-defined]
    return serving


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built beside serving here: do not wait for it."""
    monkeypatch.setattr("bench.warm.LEAST_QUIET", 0.0)
    monkeypatch.setattr("bench.warm.POLL_SECONDS", 0.0)


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """A folder, and nobody to tell."""
    return Workplace(tmp_path, lambda _: None)


def parse(benchmark: Benchmark, *words: str) -> argparse.Namespace:
    """Options of a benchmark as its command line gives them."""
    parser = argparse.ArgumentParser()
    benchmark.add_arguments(parser)
    return parser.parse_args(words)
