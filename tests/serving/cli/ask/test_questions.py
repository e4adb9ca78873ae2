from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.cli.ask.options import QUESTION_FLAGS
from serving.cli.ask.questions import read_question, read_questions
from serving.cli.failure import CommandFailed

FORMS: list[tuple[str, str, str | None, dict[str, Any]]] = [
    ("noul", "This is urgent", None, {"type": "noul", "instructions": "This is urgent"}),
    ("noul", "u: Urgent?", "u", {"type": "noul", "instructions": "Urgent?"}),
    ("noul", "Is it 10:30?", None, {"type": "noul", "instructions": "Is it 10:30?"}),
    (
        "noul",
        "Urgent? | true: today | false: later",
        None,
        {"type": "noul", "instructions": "Urgent?", "criteria": {"true": "today", "false": "later"}},
    ),
    (
        "choice",
        "topic: About? | code: programs: all | law",
        "topic",
        {"type": "choice", "instructions": "About?", "criteria": {"code": "programs: all", "law": None}},
    ),
    ("score", "Polite? | rude | ok: fine", None,
     {"type": "score", "instructions": "Polite?", "criteria": ["rude", "ok: fine"]}),
    ("set", "Tags? | a \\| b", None, {"type": "set", "instructions": "Tags?", "criteria": {"a | b": None}}),
    ("span", "Who? | person", None, {"type": "span", "instructions": "Who?", "criteria": {"person": None}}),
    ("preset", "pii", None, {"preset": "pii"}),
    ("preset", "mine: pii", "mine", {"preset": "pii"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "name", "question"), FORMS)
def test_compact_forms(kind: str, text: str, name: str | None, question: dict[str, Any]) -> None:
    assert read_question(kind, text) == (name, question)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("noul", " ", "asks nothing"),
        ("noul", "x | maybe: y", "can only be 'false: ...' and 'true: ...'"),
        ("choice", "x | a", "must name 2 or more entries"),
        ("choice", "x | a | a", "different and not blank"),
        ("choice", "x | a | ", "different and not blank"),
        ("score", "x | a", "must name 2 or more entries"),
        ("score", "x | a | ", "must name 2 or more entries"),
        ("set", "x", "must name 1 or more entries"),
        ("preset", "pii | x", "name of a preset alone"),
    ],
)
def test_what_is_no_question_is_refused(kind: str, text: str, message: str) -> None:
    with pytest.raises(CommandFailed, match=message):
        read_question(kind, text)


def test_questions_without_an_id_get_one() -> None:
    asked = [("noul", "a"), ("noul", "b"), ("preset", "pii"), ("noul", "noul-3: c"), ("noul", "d")]
    assert list(read_questions(asked, None)) == ["noul", "noul-2", "pii", "noul-3", "noul-4"]
    with pytest.raises(CommandFailed, match="'a' comes twice"):
        read_questions([("noul", "a: x"), ("noul", "a: y")], None)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_file_brings_questions_of_any_form(tmp_path: Path, wrapped: bool) -> None:
    path = tmp_path / "questions.json"
    questions = {"who": {"type": "span", "instructions": "Who?", "criteria": {"p": None}, "over": "answer"}}
    path.write_text(json.dumps({"questions": questions} if wrapped else questions), encoding="utf-8")
    assert read_questions([], path) == questions
    assert list(read_questions([("noul", "x")], path)) == ["who", "noul"]


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not JSON"), ("[]", "object of questions"), ("{}", "at least one")]
)
def test_a_file_without_questions_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "questions.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CommandFailed, match=message):
        read_questions([], path)


@settings(deadline=None, max_examples=100)
@given(kind=st.sampled_from(QUESTION_FLAGS), text=st.text("ab:|\\ \n.", max_size=20))
def test_any_text_is_a_question_or_refused(kind: str, text: str) -> None:
    with contextlib.suppress(CommandFailed):
        _, question = read_question(kind, text)
        assert question.get("instructions", question.get("preset"))
