"""The `decisions` benchmark as a whole, with a tiny encoder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.command import Workplace
from bench.decisions import command
from bench.decisions.command import DECISIONS
from bench.load import PHASES
from bench.process import Server
from checkpoints.fixtures import write_fixture
from serving.config import ModelEntry
from tests.bench.conftest import parse
from tests.end_to_end.server import COLD, running

QUICK = ("--states", "8", "40", "--rounds", "3", "--budget", "0.1", "--threads", "1", "--calls", "2")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(command, "VARIANT", "vela2_both")
    monkeypatch.setattr("bench.peers.forward.SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr("bench.peers.forward.REST_SECONDS", 0.0)


def test_forwards_are_compared_by_state(workplace: Workplace) -> None:
    pytest.importorskip("torch")
    report = DECISIONS.run(parse(DECISIONS, "--parts", "forward", *QUICK, "--clock", "cpu"), workplace)
    assert report.kept
    records = report.tables[0].records()
    assert [row["state"] for row in records] == [8, 40]
    assert all(isinstance(row["PyTorch / ours"], float) for row in records)
    assert len(report.charts) == 1


def test_without_pytorch_only_ours_is_shown(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.peers.command.find_spec", lambda _: None)
    report = DECISIONS.run(parse(DECISIONS, "--parts", "forward", *QUICK), workplace)
    assert "PyTorch is not measured" in report.notes[0]
    assert report.tables[0].records()[0]["PyTorch / ours"] is None
    assert report.charts == []


def test_outputs_that_differ_are_told(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(command, "TOLERANCE", -1.0)
    report = DECISIONS.run(parse(DECISIONS, "--parts", "forward", *QUICK, "--states", "8"), workplace)
    assert not report.kept
    assert "outputs differ by" in report.notes[0]


def test_calls_are_measured_by_phase(workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_fixture(tmp_path / "encoder", "vela2_both")

    @contextmanager
    def serving(arguments: list[str], log: Path) -> Iterator[Server]:
        assert arguments[0] == "--models"
        (entry,) = json.loads(Path(arguments[1]).read_text())["models"]
        assert entry == {"model": str(folder), "device": "cpu", "engine_args": {"warmup": [], "background": []}}
        with running([ModelEntry(model=str(folder))], args=COLD) as found:
            yield Server(None, found.url, log)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "serving", serving)
    words = ("--model", str(folder), "--parts", "http", "--callers", "1", "2")
    report = DECISIONS.run(parse(DECISIONS, *words, *QUICK), workplace)
    records = report.tables[0].records()
    assert {(row["state"], row["callers"]) for row in records} == {(8, 1), (8, 2), (40, 1), (40, 2)}
    assert all(isinstance(row[phase], float) for row in records for phase in PHASES)
    assert report.parameters["model"] == "encoder"
