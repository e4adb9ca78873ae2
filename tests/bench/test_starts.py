"""`start`: stages of loading, first and second starts."""

from __future__ import annotations

import pytest

from bench.command import Workplace
from bench.starts import PROCESS, START, stage_seconds
from tests.bench.conftest import Start, parse

LINES = [
    (0.4, "listening on http://127.0.0.1:8100, Ctrl-C ends it"),
    (0.5, "m: starting JAX"),
    (1.0, "m: hashing files"),
    (1.2, "m: hashing files 25 %"),
    (1.5, "2026-01-01 00:00:00 WARNING x: something"),
    (2.0, "m: compiling and probing buckets"),
    (5.0, "m is ready"),
    (9.0, "m: too late"),
]


def test_a_stage_lasts_until_the_next() -> None:
    assert stage_seconds(LINES, 5.0) == pytest.approx(
        {PROCESS: 0.5, "starting JAX": 0.5, "hashing files": 1.0, "compiling and probing buckets": 3.0}
    )


def test_a_silent_server_is_one_stage() -> None:
    assert stage_seconds([], 3.0) == {PROCESS: 3.0}


def test_each_round_has_a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch, workplace: Workplace, start: Start) -> None:
    monkeypatch.setattr("bench.starts.serving", start)
    report = START.run(parse(START, "--rounds", "2"), workplace)
    caches = [arguments[-1] for arguments in start.asked]  # type: ignore[attr-defined]
    assert len(set(caches)) == 2
    assert caches[0] == caches[1] != caches[2] == caches[3]
    ready, stages = (table.records() for table in report.tables)
    assert [row["start"] for row in ready] == ["first", "second"]
    assert [row["stage"] for row in stages] == [PROCESS, "starting JAX", "reading"]
    assert report.notes == ["second start / first start: 1.00 (1.00 to 1.00)"]
