"""Typed questions: every check of the contract."""

from typing import Any

import pytest

from vela_jax.contract import InvalidRequest
from vela_jax.systemone.questions import Choice, InvalidQuestion, Noul, check_question_ids, question_type, read_question

TYPES = ("choice", "noul")
CHOICE: dict[str, Any] = {"type": "choice", "instructions": "Pick one", "criteria": {"a": "first", "b": None}}
NOUL: dict[str, Any] = {"type": "noul", "instructions": "Holds"}


def test_a_choice_keeps_the_order_of_its_options() -> None:
    question = read_question(CHOICE, TYPES)
    assert question == Choice("Pick one", (("a", "first"), ("b", None)), require_full_input=False)


def test_the_list_form_reads_as_criteria() -> None:
    listed = {
        "type": "choice",
        "instructions": "Pick one",
        "choices": [{"key": "a", "description": "first"}, {"key": "b"}],
    }
    assert read_question(listed, TYPES) == read_question(CHOICE, TYPES)


@pytest.mark.parametrize(
    ("extra", "outcomes"),
    [
        ({}, (None, None)),
        ({"criteria": None}, (None, None)),
        ({"criteria": {}}, (None, None)),
        ({"criteria": {"true": "yes"}}, (None, "yes")),
        ({"criteria": {"false": {"x": 1}, "true": None}}, ({"x": 1}, None)),
        ({"choices": [{"key": "true", "description": "yes"}]}, (None, "yes")),
    ],
)
def test_a_noul_may_describe_its_outcomes(extra: dict[str, Any], outcomes: tuple[Any, Any]) -> None:
    assert read_question({**NOUL, **extra}, TYPES) == Noul("Holds", *outcomes, require_full_input=False)


@pytest.mark.parametrize("instructions", [{"a": 1}, ["x"], {}, []])
def test_instructions_may_be_structured(instructions: Any) -> None:
    assert read_question({**NOUL, "instructions": instructions}, TYPES).instructions == instructions


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (3, "a question must be an object"),
        ({}, r"type must be one of \['choice', 'noul'\], got null"),
        ({"type": ["choice"]}, "type must be one of"),
        ({"type": "score", "instructions": "x"}, "got 'score'"),
        ({**NOUL, "require_full_input": None}, "require_full_input must be true or false"),
        ({**NOUL, "require_full_input": 1}, "require_full_input"),
        ({**CHOICE, "colour": 1, "age": 2}, r"choice questions do not take \['age', 'colour'\]"),
        ({**CHOICE, "levels": ["a", "b"]}, r"do not take \['levels'\]"),
        ({"type": "noul"}, "instructions is required"),
        ({**NOUL, "instructions": None}, "instructions must be"),
        ({**NOUL, "instructions": "  "}, "instructions must be"),
        ({**NOUL, "instructions": 3}, "instructions must be"),
        ({**CHOICE, "choices": []}, "use criteria or choices, not both"),
        ({**CHOICE, "criteria": None, "choices": {}}, "choices must be a list"),
        ({**CHOICE, "criteria": None, "choices": ["a", "b"]}, r"choices\[0\] must be an object"),
        ({**CHOICE, "criteria": None, "choices": [{"key": "a", "x": 1}]}, r"choices\[0\]"),
        ({**CHOICE, "criteria": None, "choices": [{"key": " "}]}, r"choices\[0\]\.key"),
        ({**CHOICE, "criteria": None, "choices": [{"key": "a"}, {"key": "a"}]}, "'a' twice"),
        ({**NOUL, "criteria": {"maybe": "x"}}, "only describe 'false' and 'true'"),
        ({**NOUL, "criteria": ["x"]}, "only describe"),
        ({**NOUL, "criteria": {"true": ""}}, r"criteria\.true"),
        ({**NOUL, "criteria": {"true": 3}}, r"criteria\.true"),
        ({**CHOICE, "criteria": {"a": None}}, "2 to 255 options, got 1"),
        ({**CHOICE, "criteria": {str(n): None for n in range(256)}}, "2 to 255 options, got 256"),
        ({**CHOICE, "criteria": ["a", "b"]}, "2 to 255 options"),
        ({**CHOICE, "criteria": None}, "2 to 255 options"),
        ({**CHOICE, "criteria": {"a": None, " ": None}}, "blank key"),
        ({**CHOICE, "criteria": {"a": None, "b": ""}}, r"criteria\.b"),
        ({**CHOICE, "criteria": {"a": None, "b": 7}}, r"criteria\.b"),
    ],
)
def test_a_malformed_question_says_why(question: Any, says: str) -> None:
    with pytest.raises(InvalidQuestion, match=says):
        read_question(question, TYPES)


@pytest.mark.parametrize(("raw", "kind"), [({"type": "set"}, "set"), ({"type": 3}, 3), ({}, None), ("x", None)])
def test_an_answer_reports_the_type_that_was_sent(raw: Any, kind: Any) -> None:
    assert question_type(raw) == kind


@pytest.mark.parametrize(
    ("questions", "says"), [({}, "at least one question"), ({"a": {}, " \n": {}}, "blank question ID")]
)
def test_question_ids(questions: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        check_question_ids(questions)
