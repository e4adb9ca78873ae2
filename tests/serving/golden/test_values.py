"""From answers to values: keys of every surface, and answers that are not well formed."""

from __future__ import annotations

from typing import Any

import pytest

from serving.golden.values import Malformed, read_values
from vela_jax.contract import Surface

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("surface", "answer", "values"),
    [
        (
            Surface.CLASSIFY,
            {"labels": ["x", "y z"], "results": [{"index": 0, "label": "x", "probabilities": [0.75, 0.25]}]},
            {"0.probabilities.x": 0.75, "0.probabilities.y z": 0.25},
        ),
        (
            Surface.CLASSIFY,
            {"labels": ["x"], "results": [{"index": 0, "scores": [0.1]}, {"index": 1, "scores": [0.2]}]},
            {"0.scores.x": 0.1, "1.scores.x": 0.2},
        ),
        (
            Surface.CLASSIFY,
            {
                "labels": ["O"],
                "results": [
                    {"index": 0, "spans": []},
                    {
                        "index": 1,
                        "spans": [
                            {"label": "GPE", "start": 53, "end": 59, "text": "Berlin", "probability": 0.5},
                            {"label": "AGE", "start": 60, "end": 61, "text": "9", "probability": 0.25},
                        ],
                    },
                ],
            },
            {"1.span.0.GPE.53.59": 0.5, "1.span.1.AGE.60.61": 0.25},
        ),
        (
            Surface.EMBEDDINGS,
            {"data": [{"index": 0, "embedding": [0.5, -0.5]}, {"index": 1, "embedding": [1.0]}]},
            {"0.0": 0.5, "0.1": -0.5, "1.0": 1.0},
        ),
        (
            Surface.RERANK,
            {"results": [{"index": 1, "logit": 3.0, "relevance_score": 0.9}, {"index": 0, "logit": -3.0}]},
            {"0.logit": -3.0, "1.logit": 3.0},
        ),
        (
            Surface.DECISIONS,
            {
                "answers": {
                    "a": {"type": "choice", "choice": "x", "probabilities": {"x": 0.75, "y": 0.25}, "confidence": 0.2},
                    "b": {"type": "noul", "noul": 0.125},
                    "c": {"type": "score", "score": 0.5, "probabilities": {"0": 0.5, "1": 0.5 + 9e-7}},
                }
            },
            {"a.choice.x": 0.75, "a.choice.y": 0.25, "b.noul": 0.125, "c.score.0": 0.5, "c.score.1": 0.5 + 9e-7},
        ),
    ],
)
def test_values_of_each_surface(surface: Surface, answer: dict[str, Any], values: dict[str, float]) -> None:
    found = read_values(surface, answer)
    assert found == values
    assert list(found) == list(values)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"results": [{"index": 0, "error": "invalid_input"}]}, "answer.results[0] failed with invalid_input"),
        ({"results": [{"index": 0, "x": NAN}]}, "answer.results[0].x is nan"),
        ({"results": [{"index": 0, "scores": [0.5, INFINITY]}]}, "answer.results[0].scores[1] is inf"),
        ({"results": [], "x": -INFINITY}, "answer.x is -inf"),
    ],
)
def test_what_is_not_sound(answer: dict[str, Any], message: str) -> None:
    with pytest.raises(Malformed) as raised:
        read_values(Surface.CLASSIFY, answer)
    assert str(raised.value) == message


def test_an_absent_error_is_sound() -> None:
    assert read_values(Surface.CLASSIFY, {"results": [{"index": 0, "error": None, "scores": []}]}) == {}


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"type": "choice", "error": "deadline_exceeded"}, "failed with deadline_exceeded"),
        ({"type": "noul"}, "q.noul is None, not a number from 0 to 1"),
        ({"type": "noul", "noul": 1.0001}, "q.noul is 1.0001"),
        ({"type": "noul", "noul": -0.1}, "q.noul is -0.1"),
        ({"type": "noul", "noul": 1}, "q.noul is 1"),
        ({"type": "noul", "noul": True}, "q.noul is True"),
        ({"type": "noul", "noul": NAN}, "is nan"),
        ({"type": "choice"}, "q.probabilities is None"),
        ({"type": "choice", "probabilities": {}}, "q.probabilities is {}"),
        ({"type": "choice", "probabilities": [1.0]}, "q.probabilities is [1.0]"),
        ({"type": "choice", "probabilities": {"a": 1}}, "q.probabilities.a is 1"),
        ({"type": "choice", "probabilities": {"a": 1.5, "b": -0.5}}, "q.probabilities.b is -0.5"),
        ({"type": "choice", "probabilities": {"a": 0.5, "b": 0.4}}, "q.probabilities sum to 0.9"),
        ({"type": "choice", "probabilities": {"a": 0.5, "b": 0.500002}}, "q.probabilities sum to 1.000002"),
        ({"type": "score", "probabilities": {"0": INFINITY}}, "is inf"),
    ],
)
def test_decisions_that_are_not_well_formed(decision: dict[str, Any], message: str) -> None:
    with pytest.raises(Malformed) as raised:
        read_values(Surface.DECISIONS, {"answers": {"q": decision}})
    assert message in str(raised.value)
