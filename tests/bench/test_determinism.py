"""`determinism`: the plan of starts, the tally, and the whole at a tiny size."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.command import Workplace
from bench.determinism import DETERMINISM, StartPlan, Tally, _write_defaults, plan_starts
from bench.questions import Subject
from tests.bench.conftest import VARIANTS, Start, parse

TINY = ("m", "--answers", "120", "--texts", "6", "--max-tokens", "60", "--starts", "2", "--callers", "4")


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    monkeypatch.setattr("bench.determinism.serving", start)
    monkeypatch.setattr("bench.exactness_cost.serving", start)


def test_four_starts_cover_threads_and_caches() -> None:
    plans = plan_starts(4, [1, 2])
    assert {(plan.threads, plan.cache) for plan in plans} == {(1, "cold"), (2, "warm"), (2, "cold"), (1, "warm")}


def test_a_warm_cache_was_left_by_the_start_before() -> None:
    plans = plan_starts(3, [1, 2])
    assert plans == [StartPlan(1, "cold", 0), StartPlan(2, "warm", 0), StartPlan(2, "cold", 1)]


def test_a_tally_counts_what_differs_from_the_answer_alone() -> None:
    subject = Subject("m", "classify", grounded=False, room=9)
    tally = Tally(subject, ["x", "y"], [3, 4], ["1", "2"])
    tally.answers[0].update(["1", "1"])
    tally.answers[1].update(["2", "2.0"])
    assert (tally.total, tally.identical, tally.most_distinct) == (6, 5, 2)
    assert tally.share == 5 / 6
    assert tally.answers[0] == Counter({"1": 3})


def test_exact_servers_keep_the_promise(workplace: Workplace, start: Start) -> None:
    report = DETERMINISM.run(parse(DETERMINISM, *TINY, "--cost-rounds", "1", "--cost-calls", "3"), workplace)
    assert report.kept
    tally, starts, cost = (table.records() for table in report.tables)
    assert [row["model"] for row in tally] == list(VARIANTS)
    for row in tally:
        assert row["share %"] == 100
        assert row["answers"] == row["identical"] == 6 + 2 * (120 // 2 // len(VARIANTS))
        assert row["most distinct of a text"] == 1
    assert [(row["threads"], row["cache"], row["differing"]) for row in starts] == [(1, "cold", 0), (2, "warm", 0)]
    assert len(cost) == len(VARIANTS)
    assert len(report.charts) == 2
    assert "exact / throughput" in report.notes[0]
    modes = [arguments[-1] for arguments in start.asked[2:]]  # type: ignore[attr-defined]
    assert modes == ["exact", "throughput"]


def test_one_other_answer_breaks_the_promise(monkeypatch: pytest.MonkeyPatch, workplace: Workplace) -> None:
    monkeypatch.setattr("bench.determinism.answers_by_place", _forgetful())
    report = DETERMINISM.run(parse(DETERMINISM, *TINY, "--cost-rounds", "0"), workplace)
    assert not report.kept
    assert len(report.tables) == 2
    assert sum(int(str(row["differing"])) for row in report.tables[1].records()) == 1


def _forgetful() -> object:
    """Cuts answers out as it should, but for one of them."""
    from bench.questions import answers_by_place

    calls = 0

    def cut(reply: bytes) -> list[str]:
        nonlocal calls
        calls += 1
        found = answers_by_place(reply)
        return [f"{found[0]} ", *found[1:]] if calls == 40 else found

    return cut


def test_the_default_models_cover_the_surfaces(workplace: Workplace) -> None:
    models = _write_defaults(workplace.folder)
    assert models[-1] == "all-MiniLM-L6-v2"
    assert len(models) == 4
