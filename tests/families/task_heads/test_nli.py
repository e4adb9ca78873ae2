"""Decisions on an entailment model."""

import time
from typing import Any

import numpy as np
import pytest

from tests.families.task_heads import models
from vela_jax.contract import InvalidRequest, Surface, UnsupportedSurface
from vela_jax.families.task_heads.nli import entailment_index, entropy_confidence
from vela_jax.surfaces.deadline import running_until
from vela_jax.systemone.standard import CHOOSE

CHOICE: dict[str, Any] = {"type": "choice", "instructions": "About {label}.", "criteria": {"b": "one", "a": None}}
NOUL: dict[str, Any] = {"type": "noul", "instructions": "It holds."}


def plan(questions: Any, state: Any = "A state.", **members: Any) -> Any:
    return models.plan(models.nli(), Surface.DECISIONS, {"state": state, "questions": questions, **members})


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        (("ENTAILMENT", "CONTRADICTION", "NEUTRAL"), 0),
        (("neutral", "contradiction", "entailment"), 2),
        (("not_entailment", "entailment"), 1),
        (("entailment", "safe", "unsafe"), None),
        (("entailment", "Entailment", "neutral"), None),
        (("entailment",), None),
    ],
)
def test_labels_of_an_entailment_model(labels: tuple[str, ...], index: int | None) -> None:
    assert entailment_index(labels) == index


def test_a_choice_is_a_softmax_of_entailment_across_the_options() -> None:
    planned = plan({"q": CHOICE})
    first, second = (row.ids.tolist() for row in planned.rows)
    encode = models.tokenizer().encode
    assert first == [2, *encode("A state.").ids.tolist(), 1, *encode("About one.").ids.tolist(), 1]
    assert second[-5:] == [*encode("About a.").ids.tolist(), 1][-5:]
    answer = models.answer(planned, [[0, 1.0, 0], [5, 3.0, 5]])
    entry = answer.body["answers"]["q"]
    weights = np.exp([1.0, 3.0])
    assert list(entry) == ["type", "choice", "probabilities", "confidence"]
    assert list(entry["probabilities"]) == ["b", "a"]
    assert entry["choice"] == "a"
    np.testing.assert_allclose(list(entry["probabilities"].values()), weights / weights.sum(), rtol=1e-12)
    assert answer.body["usage"] == {"input_tokens": len(first) + len(second), "output_tokens": 0}
    assert answer.question_outcomes == (("choice", "answered"),)


def test_equal_options_share_and_the_first_wins() -> None:
    planned = plan({"q": {**CHOICE, "criteria": {"b": "same", "a": "same"}}})
    entry = models.answer(planned, [[0, 1, 0], [0, 1, 0]]).body["answers"]["q"]
    assert (entry["choice"], entry["probabilities"], entry["confidence"]) == ("b", {"b": 0.5, "a": 0.5}, 0.0)


def test_a_noul_is_the_probability_of_entailment() -> None:
    planned = plan({"n": {**NOUL, "criteria": {"true": "It truly holds."}}})
    assert planned.rows[0].ids.tolist()[-1 - 12 :][-1] == 1
    entry = models.answer(planned, [[1.0, 2.0, 0.0]]).body["answers"]["n"]
    assert entry == {"type": "noul", "noul": pytest.approx(np.exp(2) / np.exp([1, 2, 0]).sum(), rel=1e-12)}


def test_full_input_is_always_read() -> None:
    planned = plan({"n": {**NOUL, "require_full_input": True}})
    assert models.answer(planned, [[0, 0, 0]]).body["answers"]["n"]["input_coverage"] == "complete"


@pytest.mark.parametrize("state", [{"b": 1, "a": "é"}, ["x"]])
def test_a_structured_state_reads_as_canonical_json(state: Any) -> None:
    text = {"b": '{"a":"é","b":1}'}.get(next(iter(state), ""), '["x"]')
    first = models.tokenizer().encode(text).ids.tolist()
    assert plan({"n": NOUL}, state).rows[0].ids.tolist()[1 : 1 + len(first)] == first


@pytest.mark.parametrize(
    "instructions",
    [
        "Which domain?",
        "{label.__class__}",
        "{label[0]}",
        "{label!r}",
        "{label:>9}",
        "{label} {other}",
        "{label}{label}",
        "{",
        "{}",
        "{0}",
    ],
)
def test_a_choice_needs_one_plain_placeholder(instructions: str) -> None:
    planned = plan({"bad": {**CHOICE, "instructions": instructions}, "ok": NOUL})
    answers = models.answer(planned, [[0, 0, 0]]).body["answers"]
    assert list(answers) == ["bad", "ok"]
    assert answers["bad"]["type"] == "choice"
    assert answers["bad"]["error"] == "invalid_question"
    assert "{label}" in answers["bad"]["message"]
    assert "noul" in answers["ok"]


def test_doubled_braces_are_braces() -> None:
    planned = plan({"q": {**CHOICE, "instructions": "{{x}} {label}"}})
    tail = models.tokenizer().encode("{x} one").ids.tolist()
    assert planned.rows[0].ids.tolist()[-1 - len(tail) : -1] == tail


@pytest.mark.parametrize(
    "question",
    [
        {**NOUL, "criteria": {"false": "no"}},
        {**NOUL, "instructions": {"a": 1}},
        {**NOUL, "instructions": None},
        {"type": "score", "instructions": "x", "criteria": ["a", "b"]},
        {"type": 3},
        "text",
    ],
)
def test_questions_that_this_model_does_not_read_fail_in_place(question: Any) -> None:
    answers = models.answer(plan({"ok": NOUL, "bad": question}), [[0, 0, 0]]).body["answers"]
    assert answers["bad"]["error"] == "invalid_question"
    assert answers["bad"]["message"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"questions": {}}, "at least one question"),
        ({"questions": {" ": NOUL}}, "blank question ID"),
        ({"questions": {"n": NOUL}, "state": " "}, "state must be"),
        ({"questions": {"n": NOUL}, "state": None}, "state must be"),
        ({"questions": {"n": NOUL}, "state": 3}, "state must be"),
        ({"questions": {"n": NOUL}, "options": {"max_tokens": 5}}, "no scan budget"),
        ({"questions": {"a": {"type": "x"}, "b": 3}, "state": None}, "state must be"),
        ({"questions": {"n": {**NOUL, "instructions": "x", "criteria": {"true": []}}, "o": 3}, "state": []}, None),
    ],
)
def test_refusals_of_the_whole_request(body: dict[str, Any], says: str | None) -> None:
    if says is None:
        assert len(plan(**body).rows) == 1
        return
    with pytest.raises(InvalidRequest, match=says):
        plan(**body)


def test_too_many_hypotheses() -> None:
    options = {str(n): None for n in range(200)}
    with pytest.raises(InvalidRequest, match="2200 hypotheses"):
        plan({str(n): {**CHOICE, "criteria": options} for n in range(11)})


def test_a_pair_over_the_limit_fails_its_question() -> None:
    planned = plan({"long": {**NOUL, "instructions": "no words " * 200}, "ok": NOUL})
    answer = models.answer(planned, [[0, 0, 0]])
    assert answer.body["answers"]["long"]["error"] == "max_length_exceeded"
    assert answer.question_outcomes == (("noul", "max_length_exceeded"), ("noul", "answered"))


def test_a_state_over_the_limit_fails_every_question_but_not_the_request() -> None:
    answer = models.answer(plan({"q": CHOICE, "n": NOUL}, "word " * 400), [])
    assert [entry["error"] for entry in answer.body["answers"].values()] == ["max_length_exceeded"] * 2
    assert answer.body["usage"]["input_tokens"] > 0


def test_failed_forwards_fail_their_question_alone() -> None:
    planned = plan({"q": CHOICE, "n": NOUL, "m": NOUL})
    answers = models.answer(planned, [[0, 1, 0], None, [0, np.inf, 0], [0, 0, 0]]).body["answers"]
    assert [entry.get("error") for entry in answers.values()] == ["deadline_exceeded", "invalid_model_output", None]


@pytest.mark.parametrize(
    ("values", "confidence"), [((0.5, 0.5), 0.0), ((1.0, 0.0), 1.0), ((0.25, 0.25, 0.25, 0.25), 0.0)]
)
def test_confidence_is_one_less_the_entropy(values: tuple[float, ...], confidence: float) -> None:
    assert entropy_confidence(values) == pytest.approx(confidence, abs=1e-12)


def test_other_sequence_models_answer_no_decisions() -> None:
    with pytest.raises(UnsupportedSurface, match=r"does not serve decisions; it serves \['classify'\]"):
        models.plan(models.sequence(), Surface.DECISIONS, {"state": "x", "questions": {"n": NOUL}})


def test_a_choice_without_instructions_of_its_own_has_its_options_as_hypotheses() -> None:
    planned = plan({"q": {**CHOICE, "instructions": CHOOSE}})
    encode = models.tokenizer().encode
    for row, text in zip(planned.rows, ("one", "a"), strict=True):
        assert row.ids.tolist() == [2, *encode("A state.").ids.tolist(), 1, *encode(text).ids.tolist(), 1]


def test_questions_that_are_planned_too_late_have_failed_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vela_jax.families.task_heads.items.PLANNED_ANYWAY", 0)
    with running_until(time.monotonic() - 1):
        planned = plan({"n": NOUL, "bad": {"type": "x"}, "c": CHOICE})
    assert len(planned.rows) == 1
    answers = models.answer(planned, [[0, 0, 0]]).body["answers"]
    assert [each.get("error") for each in answers.values()] == [None, "invalid_question", "deadline_exceeded"]


def test_types_of_other_models_have_a_reason() -> None:
    answers = models.answer(plan({"n": NOUL, "b": {"type": "box", "instructions": "x"}}), [[0, 0, 0]]).body["answers"]
    assert answers["b"]["reason"] == "box_unsupported"
