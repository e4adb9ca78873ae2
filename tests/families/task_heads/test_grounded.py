"""The grounded head: budgets, spans, thresholds."""

from typing import Any

import numpy as np
import pytest

from tests.families.task_heads import models
from vela_jax.contract import Surface

ITEM = {"context": "cc", "question": "qq", "answer": "abc"}


def tokens_in(text: str) -> int:
    return models.tokenizer().encode(text).count


def outputs(planned: Any, *positive: float) -> list[Any]:
    """Logits whose positive probabilities on the answer's tokens are the given ones."""
    row = np.zeros((planned.rows[0].length, 2), np.float32)
    values = np.array(positive)
    row[-1 - len(values) : -1, 0] = np.log(values / (1 - values))
    return [row]


def test_the_template_is_filled_and_the_answer_follows() -> None:
    planned = models.plan(models.grounded(), Surface.CLASSIFY, {"input": ITEM})
    prompt = models.tokenizer().encode("Q qq C cc").ids.tolist()
    answer = models.tokenizer().encode("abc").ids.tolist()
    assert planned.rows[0].ids.tolist() == [2, *prompt, 1, *answer, 1]


def test_braces_in_what_is_sent_stay_as_they_are() -> None:
    planned = models.plan(models.grounded(), Surface.CLASSIFY, {"input": {"question": "{context}", "answer": "abc"}})
    prompt = models.tokenizer().encode("Q {context} C ").ids.tolist()
    assert planned.rows[0].ids.tolist()[1 : 1 + len(prompt)] == prompt


@pytest.mark.parametrize(("strict", "end"), [(True, 2), (False, 3)])
def test_runs_above_the_threshold_become_spans(strict: bool, end: int) -> None:
    planned = models.plan(models.grounded(strict=strict), Surface.CLASSIFY, {"input": ITEM})
    body = models.answer(planned, outputs(planned, 0.9, 0.6, 0.5)).body
    assert body["kind"] == "token"
    (result,) = body["results"]
    (span,) = result["spans"]
    assert list(span) == ["start", "end", "probability", "label", "text"]
    assert (span["start"], span["end"], span["label"], span["text"]) == (0, end, "bad", "abc"[:end])
    assert span["probability"] == pytest.approx(0.9, abs=1e-6)


def test_a_threshold_replaces_the_packaged_one_and_tokens_are_of_the_answer() -> None:
    body = {"input": [ITEM], "options": {"threshold": 0.95, "return_tokens": True}}
    planned = models.plan(models.grounded(), Surface.CLASSIFY, body)
    (result,) = models.answer(planned, outputs(planned, 0.9, 0.6, 0.5)).body["results"]
    assert result["spans"] == []
    assert [(row["start"], row["end"]) for row in result["tokens"]] == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    "item",
    ["x", None, {}, {"answer": ""}, {"answer": 3}, {"answer": "a", "context": None}, {"answer": "a", "text": "b"}],
)
def test_bad_items(item: Any) -> None:
    planned = models.plan(models.grounded(), Surface.CLASSIFY, {"input": [item, ITEM]})
    results = models.answer(planned, outputs(planned, 0.1, 0.1, 0.1)).body["results"]
    assert results[0] == {"index": 0, "error": "invalid_input"}
    assert results[1]["spans"] == []


def test_the_prompt_is_cut_and_the_answer_is_not() -> None:
    item = {**ITEM, "context": "c" * 300}
    total = tokens_in("Q qq C " + "c" * 300) + 3 + 3
    rejected = models.plan(models.grounded(), Surface.CLASSIFY, {"input": [item], "options": {"max_tokens": 40}})
    assert models.answer(rejected, []).body["results"][0]["error"] == "max_length_exceeded"
    cut = models.plan(
        models.grounded(), Surface.CLASSIFY, {"input": [item], "options": {"max_tokens": 40, "overflow": "truncate"}}
    )
    assert cut.rows[0].length == 40
    (result,) = models.answer(cut, outputs(cut, 0.1, 0.1, 0.9)).body["results"]
    assert result["spans"][0]["text"] == "c"
    assert result["input"] == {"tokens": total, "processed_tokens": 40, "truncated": True}


@pytest.mark.parametrize(("budget", "error"), [(6, None), (5, "max_length_exceeded"), (1, "max_length_exceeded")])
def test_an_answer_must_fit_whole(budget: int, error: str | None) -> None:
    body = {"input": [ITEM], "options": {"max_tokens": budget, "overflow": "truncate"}}
    planned = models.plan(models.grounded(), Surface.CLASSIFY, body)
    (result,) = models.answer(planned, [] if error else outputs(planned, 0.1, 0.1, 0.1)).body["results"]
    assert result.get("error") == error
    if error is None:
        assert result["input"]["processed_tokens"] == budget
