"""The check: two runs of each case, their verdict, and what is counted (runtime rules, section 9.3)."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from checkpoints.golden import Expected, Reference
from serving.golden import UNVERIFIED, Golden, GoldenCheckFailed, check
from tests.serving.fakes import describe
from vela_jax.contract import Surface
from vela_jax.surfaces.card import Description

NAN = float("nan")
NAME = "acme/letters@1"


def reranker() -> Description:
    return describe(surfaces=[Surface.RERANK], heads=None)


def entailment() -> Description:
    return describe(surfaces=[Surface.CLASSIFY, Surface.DECISIONS])


def logits(*values: float) -> dict[str, Any]:
    return {"results": [{"index": index, "logit": value} for index, value in enumerate(values)]}


def reference(**cases: dict[str, float]) -> Reference:
    return Reference(NAME, {name: Expected(values) for name, values in cases.items()})


def run(
    answers: Sequence[dict[str, Any]],
    device_class: str = "cpu",
    expected: Reference | None = None,
    description: Description | None = None,
) -> Golden:
    """Check a model that gives these answers, one after another."""
    left = iter(answers)

    async def ask(surface: Surface, body: dict[str, Any]) -> dict[str, Any]:
        assert body
        assert isinstance(surface, Surface)
        return next(left)

    verdict = asyncio.run(check(description or reranker(), ask, device_class, expected))
    assert not list(left)
    return verdict


def fail(*arguments: Any, **members: Any) -> GoldenCheckFailed:
    with pytest.raises(GoldenCheckFailed) as raised:
        run(*arguments, **members)
    assert raised.value.golden.status == "failed"
    return raised.value


@pytest.mark.parametrize(
    ("device_class", "found", "expected", "tolerance", "matched"),
    [
        ("cpu", 0.5005, 0.5, None, 2),
        ("cpu", 0.502, 0.5, None, 0),
        ("rocm", 0.51, 0.5, None, 2),
        ("rocm", 0.54, 0.5, None, 0),
        ("cuda", 0.51, 0.5, None, 2),
        ("cuda", 0.54, 0.5, None, 0),
        ("mps", 0.501, 0.5, 0.002, 2),
        ("mps", 0.501, 0.5, 0.0001, 0),
        ("mps", 0.5, 0.5, -1.0, 0),
        ("mps", 0.5, 0.5, NAN, 0),
        ("mps", 0.5, 0.5, float("inf"), 0),
        ("mps", 0.5, 0.5, True, 0),
        ("mps", 0.5, 0.5, None, 0),
    ],
)
def test_the_table(device_class: str, found: float, expected: float, tolerance: Any, matched: int) -> None:
    own = {} if tolerance is None else {device_class: tolerance}
    recorded = Reference(NAME, {"rerank": Expected({"0.logit": expected}, tolerances=own)})
    if matched:
        assert run([logits(found)] * 2, device_class, recorded) == Golden("matched", 2, 2, NAME)
    else:
        error = fail([logits(found)] * 2, device_class, recorded)
        assert error.golden == Golden("failed", 2, 0, NAME)


def test_without_a_reference_the_model_is_unverified() -> None:
    assert run([logits(0.5)] * 2, "cuda") == UNVERIFIED == Golden("unverified", 0, 0, None)


@pytest.mark.parametrize(
    ("second", "matched", "message"),
    [
        (logits(0.338), 1, "0.logit is 0.338, expected 0.3 within 0.02"),
        (logits(NAN), 0, "is nan"),
        (logits(0.319, 0.1), 0, "two runs gave different answers: 1.logit is 0.1, expected no such value"),
        (logits(), 0, "two runs gave different answers: 0.logit is missing"),
        (logits(0.35), 0, "two runs gave different answers: 0.logit is 0.35, expected 0.319 within 0.02"),
    ],
)
def test_on_an_npu_the_second_run_is_judged_too(second: dict[str, Any], matched: int, message: str) -> None:
    error = fail([logits(0.319), second], "npu", reference(rerank={"0.logit": 0.3}))
    assert message in str(error)
    assert error.golden.matched == matched


def test_an_npu_may_drift_within_the_tolerance() -> None:
    assert run([logits(0.319), logits(0.31)], "npu", reference(rerank={"0.logit": 0.3})).matched == 2


@pytest.mark.parametrize("device_class", ["cpu", "cuda", "rocm", "mps"])
def test_elsewhere_two_runs_must_be_equal(device_class: str) -> None:
    error = fail([logits(0.5), logits(0.5000001)], device_class)
    assert str(error) == (
        "readiness request 'rerank': two runs gave different answers: the second answer is another one"
    )
    assert error.golden == Golden("failed")


@pytest.mark.parametrize("faulty", [0, 1])
def test_an_answer_that_is_not_well_formed_fails(faulty: int) -> None:
    answers = [logits(0.5), logits(0.5)]
    answers[faulty] = {"results": [{"index": 0, "error": "invalid_model_output"}]}
    message = "readiness request 'rerank': answer.results[0] failed with invalid_model_output"
    assert str(fail(answers)) == message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"0.logit": 0.5, "1.logit": 0.5}, "'rerank': 1.logit is -0.5, expected 0.5 within 0.001"),
        ({"0.logit": 0.5}, "'rerank': 1.logit is -0.5, expected no such value"),
        ({"0.logit": 0.5, "1.logit": -0.5, "2.logit": 1.0}, "'rerank': 2.logit is missing, expected 1"),
    ],
)
def test_the_reason_names_case_key_found_and_expected(values: dict[str, float], message: str) -> None:
    error = fail([logits(0.5, -0.5)] * 2, expected=reference(rerank=values))
    assert str(error) == f"readiness request {message} (reference {NAME})"


TEXTS = {"labels": ["a"], "results": [{"index": 0, "probabilities": [1.0]}]}
PAIR = {"labels": ["a"], "results": [{"index": 0, "probabilities": [0.5]}]}
CHOICE = {"answers": {"topic": {"type": "choice", "choice": "code", "probabilities": {"code": 0.75, "math": 0.25}}}}
ENTAILMENT = {
    "texts": {"0.probabilities.a": 1.0},
    "pair": {"0.probabilities.a": 0.5},
    "decisions": {"topic.choice.code": 0.75, "topic.choice.math": 0.25},
}


def twice(answers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [copy.deepcopy(answer) for answer in answers for _ in range(2)]


def test_all_cases_count_both_runs() -> None:
    found = run(twice([TEXTS, PAIR, CHOICE]), expected=reference(**ENTAILMENT), description=entailment())
    assert found == Golden("matched", 6, 6, NAME)


def test_one_case_that_differs_fails_the_model() -> None:
    recorded = reference(**{**ENTAILMENT, "pair": {"0.probabilities.a": 0.6}})
    error = fail(twice([TEXTS, PAIR, CHOICE]), expected=recorded, description=entailment())
    assert "'pair': 0.probabilities.a is 0.5, expected 0.6" in str(error)
    assert error.golden == Golden("failed", 6, 4, NAME)


@pytest.mark.parametrize(
    "values",
    [
        {"topic.noul": 0.75},
        {"topic.choice.code": 0.75, "topic.choice.maths": 0.25},
        {"topic.score.code": 0.75, "topic.score.math": 0.25},
        {"topic.choice.code": 0.749, "topic.choice.math": 0.2522},
    ],
)
def test_a_decision_of_another_type_option_or_probability_fails(values: dict[str, float]) -> None:
    recorded = reference(**{**ENTAILMENT, "decisions": values})
    error = fail(twice([TEXTS, PAIR, CHOICE]), expected=recorded, description=entailment())
    assert error.golden == Golden("failed", 6, 4, NAME)


def test_cases_without_a_recording_leave_the_model_unverified() -> None:
    recorded = reference(texts=ENTAILMENT["texts"])
    found = run(twice([TEXTS, PAIR, CHOICE]), expected=recorded, description=entailment())
    assert found == Golden("unverified", 2, 2, NAME)


def test_a_recorded_case_that_the_model_does_not_have_fails() -> None:
    error = fail([logits(0.5)] * 2, expected=reference(rerank={"0.logit": 0.5}, texts={}))
    assert "'texts': it is recorded, and the model has no such request" in str(error)
