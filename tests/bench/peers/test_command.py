"""The `peers` benchmark as a whole, with a tiny encoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.command import Workplace
from bench.peers import command, http_load
from bench.peers.command import PEERS
from bench.process import Server
from tests.bench.conftest import parse
from tests.bench.peers.test_package import SIZES

QUICK = ("--lengths", "8", "40", "--rounds", "3", "--budget", "0.1", "--threads", "1")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr("bench.peers.package.RELEASED", SIZES)
    monkeypatch.setattr("bench.peers.forward.SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr("bench.peers.forward.REST_SECONDS", 0.0)


def test_the_encoder_is_compared_with_what_is_installed(workplace: Workplace) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    report = PEERS.run(parse(PEERS, "--parts", "encoder", *QUICK, "--clock", "cpu"), workplace)
    assert report.kept
    assert report.notes == []
    (table,) = report.tables
    assert [row["tokens"] for row in table.records()] == [8, 40]
    assert sum(name.endswith(" / ours") for name in table.columns) == 2
    assert len(report.charts[0].series) == 2


def test_a_peer_that_is_not_installed_is_named(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    report = PEERS.run(parse(PEERS, "--parts", "encoder", *QUICK, "--layers", "1"), workplace)
    assert [note.split(" is not measured")[0] for note in report.notes] == ["PyTorch", "ONNX Runtime"]
    (table,) = report.tables
    assert not any(name.endswith(" / ours") for name in table.columns)


def test_outputs_that_differ_are_told(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(command, "TOLERANCE", -1.0)
    report = PEERS.run(parse(PEERS, "--parts", "encoder", *QUICK), workplace)
    assert not report.kept
    assert any("outputs differ by" in note for note in report.notes)


def test_infinity_needs_a_python_of_its_own(workplace: Workplace) -> None:
    report = PEERS.run(parse(PEERS, "--parts", "http"), workplace)
    assert report.kept
    assert report.tables == []
    assert "--infinity-python" in report.notes[0]


def test_servers_are_compared_by_callers(workplace: Workplace, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    @contextmanager
    def both(model: str, python: Path, threads: int, logs: Path) -> Iterator[list[http_load.Peer]]:
        assert Path(model).is_dir()
        assert (python, threads) == (Path("python"), 1)
        assert logs == workplace.folder
        yield [http_load.Peer(name, server, "/v1/embeddings") for name in (http_load.OURS, http_load.INFINITY)]

    monkeypatch.setattr(http_load, "both_serving", both)
    monkeypatch.setattr(http_load, "infinity_versions", lambda python: f"{python} 0.0.78")
    monkeypatch.setattr(http_load, "MODEL", "embedding")
    monkeypatch.setattr(http_load, "WARM_CALLS", 2)
    words = ("--parts", "http", "--infinity-python", "python", "--threads", "1", "--callers", "1", "2")
    report = PEERS.run(parse(PEERS, *words, "--calls", "3", "--http-rounds", "2"), workplace)
    (table,) = report.tables
    assert [row["callers"] for row in table.records()] == [1, 2]
    assert report.charts[0].series.keys() == {http_load.OURS, http_load.INFINITY}
