"""Rerank: order, failures, exits, budgets."""

from typing import Any

import pytest

from tests.families.task_heads import models
from vela_jax.contract import InvalidRequest, Surface


def plan(documents: list[str], query: str = "animals", **members: Any) -> Any:
    return models.plan(models.relevance(), Surface.RERANK, {"query": query, "documents": documents, **members})


def test_scored_documents_come_first_and_failed_ones_last() -> None:
    planned = plan(["a cat", "the router", "", "an animal"], top_n=2)
    answer = models.answer(planned, [0.5, 2.0, 0.5])
    results = answer.body["results"]
    assert [(entry["index"], entry.get("error")) for entry in results] == [(1, None), (0, None), (2, "invalid_input")]
    assert list(results[0]) == ["index", "relevance_score", "logit", "input"]
    assert results[0]["logit"] == 2.0
    assert results[0]["relevance_score"] == pytest.approx(0.8807970779778823, rel=1e-15)
    assert answer.body["usage"]["input_tokens"] == sum(row.length for row in planned.rows)
    assert answer.meta == {"pair_scorer": {"layer": 4, "dimension": 64}}


def test_documents_come_back_when_asked() -> None:
    results = models.answer(plan(["b", "a", "b"], return_documents=True), [1.0, 3.0, 1.0]).body["results"]
    assert [(entry["index"], entry["document"]) for entry in results] == [(1, "a"), (0, "b"), (2, "b")]


@pytest.mark.parametrize(("logit", "score"), [(-1000.0, 0.0), (1000.0, 1.0), (0.0, 0.5)])
def test_extreme_logits_do_not_overflow(logit: float, score: float) -> None:
    assert models.answer(plan(["d"]), [logit]).body["results"][0]["relevance_score"] == score


@pytest.mark.parametrize(
    ("members", "readout"),
    [
        ({}, ("logit.4.64", 4)),
        ({"layer": 2}, ("logit.2.64", 2)),
        ({"layer": 2, "dimensions": 32}, ("logit.2.32", 2)),
        ({"layer": None, "dimensions": None}, ("logit.4.64", 4)),
    ],
)
def test_exits(members: dict[str, Any], readout: tuple[str, int]) -> None:
    (row,) = plan(["d"], **members).rows
    assert (row.readout.name, row.readout.depth) == readout


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"query": "  "}, "query must not be blank"),
        ({"documents": []}, "documents must hold 1 to 1024 texts, got 0"),
        ({"documents": ["a"] * 1025}, "got 1025"),
        ({"top_n": 0}, "top_n must be at least 1, got 0"),
        ({"layer": 3}, r"must be one of \[\(2, 64\), \(2, 32\), \(4, 64\)\], got \(3, 64\)"),
        ({"dimensions": 32}, r"got \(4, 32\)"),
        ({"options": {"overflow": "truncate"}}, "overflow must be 'reject'"),
        ({"options": {"overflow": None}}, "overflow"),
        ({"options": {"max_tokens": 257}}, "max_tokens must be 1 to 256, got 257"),
    ],
)
def test_refusals(members: dict[str, Any], says: str) -> None:
    body = {"query": "q", "documents": ["d"], **members}
    with pytest.raises(InvalidRequest, match=says):
        models.plan(models.relevance(), Surface.RERANK, body)


def test_a_pair_that_fits_exactly_is_read() -> None:
    pair = 3 + models.tokenizer().encode("animals").count + models.tokenizer().encode("cat").count
    fits = plan(["cat"], options={"max_tokens": pair})
    assert fits.rows[0].length == pair
    over = plan(["cat", " "], options={"max_tokens": pair - 1})
    results = models.answer(over, []).body["results"]
    assert [entry["error"] for entry in results] == ["max_length_exceeded", "invalid_input"]


@pytest.mark.parametrize("query", ["q " * 400, "q" * 100_000])
def test_a_query_over_the_budget_fails_every_document_that_is_not_blank(query: str) -> None:
    answer = models.answer(plan(["a", "", "b"], query), [])
    assert [entry["error"] for entry in answer.body["results"]] == [
        "max_length_exceeded",
        "invalid_input",
        "max_length_exceeded",
    ]
    assert answer.body["usage"]["input_tokens"] == 0


def test_late_and_broken_documents_fail_alone() -> None:
    results = models.answer(plan(["a", "b", "c"]), [None, float("nan"), 1.0]).body["results"]
    assert [(entry["index"], entry.get("error")) for entry in results] == [
        (2, None),
        (0, "deadline_exceeded"),
        (1, "invalid_model_output"),
    ]
