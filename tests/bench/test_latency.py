"""`latency` and `load`, at a tiny size."""

from __future__ import annotations

import pytest

from bench.command import Workplace
from bench.latency import LATENCY, LOAD
from bench.load import PHASES
from bench.process import Server
from tests.bench.conftest import Start, parse

SURFACES = 6  # of the five models; the entailment model serves two


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    monkeypatch.setattr("bench.latency.serving", start)


def test_latency_says_where_the_time_of_a_call_goes(workplace: Workplace) -> None:
    report = LATENCY.run(parse(LATENCY, "--calls", "3", "--words", "2", "9"), workplace)
    records = report.tables[0].records()
    assert len(records) == SURFACES * 2 * 3
    assert {(row["texts"], row["callers"], row[""]) for row in records} == {
        (texts, 1, share) for texts in ("2 words", "9 words") for share in ("p50", "p95", "p99")
    }
    for row in records:
        assert set(PHASES) <= row.keys()
        assert all(isinstance(row[phase], float) for phase in PHASES)
    assert report.charts[0].series.keys() == {"forward", "overhead", "own work", "wall"}
    assert len(report.charts[0].groups) == SURFACES * 2


def test_load_counts_requests_a_second(workplace: Workplace, start: Start) -> None:
    words = ("tiny", "--calls", "4", "--callers", "1", "3", "--batching", "exact", "--threads", "1")
    report = LOAD.run(parse(LOAD, *words), workplace)
    assert start.asked == [  # type: ignore[attr-defined]
        ["tiny", "--result-cache-entries", "0", "--batching", "exact", "--threads", "1"]
    ]
    records = report.tables[0].records()
    assert {row["callers"] for row in records} == {1, 3}
    assert all(isinstance(row["requests/s"], float) and row["requests/s"] > 0 for row in records)
    assert [chart.title for chart in report.charts] == ["Requests a second", "Latency"]
    assert report.parameters["mix"] == ["short"]


def test_parameters_name_no_folder(workplace: Workplace, server: Server) -> None:
    report = LATENCY.run(parse(LATENCY, "/home/somebody/models/tiny", "--calls", "1", "--words", "1"), workplace)
    assert report.parameters["models"] == ["tiny"]
    assert str(server.log.parent) not in str(report)
