"""A decoder's request of several questions beside plain forwards in PyTorch, with a tiny package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.command import Workplace
from bench.decisions import growth, request
from bench.decisions.command import DECISIONS
from bench.decisions.decoder import EngineRequests
from bench.decisions.memory import added, most_taken
from bench.decisions.request import QUESTIONS, STATES, request_of
from bench.decisions.signals import States
from checkpoints.fixtures import write_fixture
from tests.bench.conftest import parse
from tests.end_to_end.server import keeping_compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fixture(tmp_path_factory.mktemp("growth") / "decoder", "vela2_decoder")


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with keeping_compiled(tmp_path_factory):
        yield


FEW = {name: QUESTIONS[name] for name in ("facts", "topics")}
"""A question of each readout: every other length of rows is one more to compile."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr("bench.peers.forward.SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr("bench.peers.forward.REST_SECONDS", 0.0)


def test_questions_share_their_state(folder: Path) -> None:
    ours = EngineRequests(folder)
    asked = request_of(ours.model, States(folder).of(20), len(QUESTIONS))
    ours.close()
    assert len(asked.turns) == STATES
    assert [len(rows) for rows in asked.turns] == [8] * STATES
    first, second = ({row.prefix.key for row in rows if row.prefix is not None} for rows in asked.turns)
    assert (len(first), len(second)) == (1, 1)
    assert first != second
    (prefix,) = {row.prefix.length for row in asked.turns[0] if row.prefix is not None}
    assert asked.tokens == prefix + sum(row.length for row in asked.turns[0])
    assert len(QUESTIONS) == max(growth.COUNTS)


def test_both_are_compared_by_questions(folder: Path, workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(request, "QUESTIONS", FEW)
    words = ("--decoder", str(folder), "--decoder-states", "20", "--questions", "1", "2", "--threads", "1")
    report = DECISIONS.run(parse(DECISIONS, "--parts", "questions", *words, "--budget", "0.1"), workplace)
    assert report.kept, report.notes
    times, memory = (table.records() for table in report.tables)
    assert [(row["state"], row["questions"]) for row in times] == [(20, 1), (20, 2)]
    assert times[0]["Vela JAX, one question = 1"] == times[0]["PyTorch, one question = 1"] == 1
    assert all(isinstance(row["PyTorch / ours"], float) for row in times)
    assert [row["engine"] for row in memory] == ["Vela JAX", "PyTorch"]
    assert len(report.charts) == 1
    assert report.parameters["decoder"] == "decoder"


def test_the_peer_reads_what_we_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(request, "QUESTIONS", FEW)
    from bench.decisions.decoder_pytorch import PyTorchQuestions

    ours, peer = EngineRequests(folder), PyTorchQuestions(folder, 1)
    asked = request_of(ours.model, States(folder).of(20), len(FEW))
    found = [[runner(asked) for _ in range(STATES + 1)] for runner in (ours, peer)]
    ours.close()
    peer.close()
    for mine, theirs in zip(*found, strict=True):
        assert mine.shape == (sum(row.length for row in asked.turns[0]),)
        np.testing.assert_allclose(mine, theirs, atol=2e-3)
    for outputs in found:
        np.testing.assert_array_equal(outputs[0], outputs[STATES])  # the turns begin again
        assert np.abs(outputs[0] - outputs[1]).max() > 0.01


def test_memory_is_that_of_the_step() -> None:
    kept, size = added(lambda: np.ones(32 << 17, np.float64))
    assert kept.nbytes == 32 << 20
    assert 28 < size < 40
    assert most_taken(lambda: np.ones(32 << 17, np.float64).sum()) > 28
