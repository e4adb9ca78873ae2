from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from serving.cli.ask.request import Request
from serving.cli.ask.show import cosine, has_failure, show

USAGE = {"input_tokens": 7, "output_tokens": 0}


def shown(surface: str, body: dict[str, Any], answer: dict[str, Any], texts: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    answer = {"model": "m", "usage": USAGE, **answer}
    show(Request(surface, body, texts), answer, {"total": 2.0, "forward": 1.0}, Console(file=stream, width=160))
    assert "m · 7 tokens · 2.0 ms total · 1.0 ms forward" in stream.getvalue()
    return stream.getvalue()


def line(text: str, word: str) -> str:
    return next(each for each in text.splitlines() if word in each)


def test_every_kind_of_decision_has_a_picture() -> None:
    answers = {
        "topic": {
            "type": "choice", "choice": "law", "confidence": 0.5, "abstain_probability": 0.125,
            "probabilities": {"code": 0.25, "law": 0.75},
        },
        "urgent": {"type": "noul", "noul": 0.125},
        "tone": {
            "type": "score", "score": 0.9, "confidence": 0.4, "legend": {"0": "rude", "1": "kind"},
            "probabilities": {"0": 0.1, "1": 0.9},
        },
        "tags.a": {"type": "noul", "noul": 0.6},
        "tags.b": {"type": "noul", "noul": 0.2},
        "who": {"type": "noul", "noul": 0.9},
        "far": {"type": "box", "box": {"top": 0.5}},
        "bad": {"type": None, "error": "invalid_question", "message": "no type"},
    }  # fmt: skip
    answer = {
        "answers": answers,
        "sets": {"tags": {"selected": ["a"], "probabilities": {"a": 0.6, "b": 0.2}}},
        "spans": {"who": [{"label": "person", "start": 0, "end": 4, "text": "Anna", "probability": 0.9}]},
        "thresholds": {"tags": 0.5, "who": 0.5},
    }
    text = shown("decisions", {"state": {"a": "x", "b": "Anna is here"}, "questions": {}}, answer)
    assert "75.0 %" in line(text, "law")
    assert "confidence 0.50, none of them 12.5 %" in text
    assert "12.5 %" in line(text, "urgent")
    assert "90.0 %" in line(text, "1 kind")
    assert "score 0.90" in text
    assert "selected (from 0.50 on)" in line(text, "tags.a")
    assert "left out" in line(text, "tags.b")
    assert "1 span " in line(text, "who")
    assert "[Anna person] is here" in text
    assert "bad: no type" in text
    assert has_failure({"answers": answers})
    assert not has_failure({"answers": {"a": answers["topic"]}})


def test_labels_and_scores_of_a_classifier() -> None:
    answer = {
        "labels": ["a", "b"],
        "results": [
            {"index": 0, "label": "b", "probabilities": [0.25, 0.75]},
            {"index": 1, "scores": [0.5, 1.0], "selected": ["a", "b"]},
            {"index": 2, "error": "invalid_input"},
        ],
    }
    text = shown("classify", {"input": ["one", "two", "three"]}, answer, ("one", "two", "three"))
    assert "75.0 %" in line(text, "b ")
    assert "100.0 %" in text
    assert "three invalid_input" in text


@pytest.mark.parametrize("item", ["It is in Rome.", {"context": "Paris", "answer": "It is in Rome."}])
def test_spans_of_a_classifier_stand_in_their_text(item: Any) -> None:
    spans = [{"label": "wrong", "start": 9, "end": 13, "text": "Rome", "probability": 0.9}]
    answer = {"labels": ["wrong"], "results": [{"index": 0, "spans": spans}]}
    assert "It is in [Rome wrong]." in shown("classify", {"input": [item]}, answer, (str(item),))


def test_no_spans_leave_the_text() -> None:
    answer = {"labels": ["x"], "results": [{"index": 0, "spans": []}]}
    text = shown("classify", {"input": ["quiet"]}, answer, ("quiet",))
    assert "quiet\nno span" in text


def test_vectors_are_compared() -> None:
    data = [
        {"index": 0, "embedding": [1.0, 0.0]},
        {"index": 1, "embedding": [3.0, 4.0]},
        {"index": 2, "error": "invalid_input"},
    ]
    text = shown("embeddings", {}, {"data": data}, ("one", "two", "three"))
    assert "0.60" in line(text, "one")
    assert "three invalid_input" in text
    assert "2 numbers: 1.0000, 0.0000" in shown("embeddings", {}, {"data": data[:1]}, ("one",))
    assert cosine([0.0], [1.0]) == 0.0


def test_documents_stand_in_their_order_with_their_numbers() -> None:
    results = [{"index": 1, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0.25}]
    text = shown("rerank", {"query": "q"}, {"results": [*results, {"index": 2, "error": "x"}]}, ("one", "two", "three"))
    assert text.index("two") < text.index("one")
    assert line(text, "two").startswith("2")
