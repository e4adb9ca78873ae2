"""`long`, with a text that is not so long."""

from __future__ import annotations

import pytest

from bench.command import Workplace
from bench.long_input import LONG
from tests.bench.conftest import Start, parse


def test_every_policy_of_every_model_is_asked(
    monkeypatch: pytest.MonkeyPatch, workplace: Workplace, start: Start
) -> None:
    monkeypatch.setattr("bench.long_input.serving", start)
    report = LONG.run(parse(LONG, "--size-mib", "0.3"), workplace)
    outcomes = {(row["model"], row["policy"]): row["outcome"] for row in report.tables[0].records()}
    assert outcomes["embedding", "reject"] == "max_length_exceeded"
    assert outcomes["embedding", "truncate to 512"] == "answered"
    assert ("sequence", "window, over budget") in outcomes
    assert not any(model == "reranker" for model, _ in outcomes)
    assert len(report.charts[0].groups) == len(outcomes)
