"""Questions as the model is asked."""

from typing import Any

import pytest

from tests.families.vela2.toy import CALIBRATION
from vela_jax.contract import ItemError
from vela_jax.families.vela2.parts import Field, read_state
from vela_jax.families.vela2.questions import Asked, QuestionReader, Refused, resolve_over
from vela_jax.systemone.questions import InvalidQuestion

STATE = read_state({"request": "ask", "source": "doc", "tools": ["t"], "answer": "yes"})
READER = QuestionReader(CALIBRATION)
TEXT: dict[str, Any] = {"instructions": "Which?"}
AB: dict[str, Any] = {**TEXT, "criteria": {"a": "A", "b": None}}


def read(**raw: Any) -> Asked:
    return READER.read("q", raw, STATE)


@pytest.mark.parametrize(
    ("raw", "options", "abstains"),
    [
        ({"type": "choice", **AB}, (("a", "A"), ("b", "")), True),
        (
            {"type": "choice", **TEXT, "choices": [{"key": "b", "description": {"x": 1}}, {"key": "a"}]},
            (("b", '{"x":1}'), ("a", "")),
            True,
        ),
        (
            {"type": "noul", **TEXT},
            (
                ("no", "No. The statement or question is not satisfied."),
                ("yes", "Yes. The statement or question is satisfied."),
            ),
            True,
        ),
        (
            {"type": "noul", **TEXT, "criteria": {"false": "bad", "true": ["ok"]}},
            (("no", "bad"), ("yes", '["ok"]')),
            True,
        ),
        ({"type": "score", **TEXT, "criteria": ["a", {"x": 1}, "a"]}, (("a", ""), ('{"x":1}', ""), ("a", "")), False),
        ({"type": "score", **TEXT, "levels": ["a", "b"]}, (("a", ""), ("b", "")), False),
        ({"type": "set", **AB}, (("a", "A"), ("b", "")), False),
        ({"type": "span", **TEXT, "labels": [{"key": "a"}]}, (("a", ""),), False),
        ({"preset": "halu"}, (("unsupported", "no support"),), False),
        ({"preset": "relevance"}, (("low", "not at all"), ("high", "fully")), False),
    ],
)
def test_options_in_the_models_own_form(raw: dict[str, Any], options: Any, abstains: bool) -> None:
    asked = read(**raw)
    assert (asked.options, asked.abstains) == (options, abstains)


@pytest.mark.parametrize(
    ("raw", "key", "legend"),
    [
        ({"type": "score", **TEXT, "levels": ["a", {"x": 1}]}, "q", ("a", '{"x":1}')),
        ({"preset": "relevance", "type": "score"}, "relevance", ("not at all", "fully")),
        ({"preset": "pii", "type": None, "threshold": 0.5, "overflow": "truncate"}, "pii", ()),
        ({"type": "noul", "instructions": ["x"], "preset": None, "over": None}, "q", ()),
    ],
)
def test_keys_and_legends(raw: dict[str, Any], key: str, legend: tuple[str, ...]) -> None:
    asked = read(**raw)
    assert (asked.key, asked.legend) == (key, legend)


@pytest.mark.parametrize(
    ("over", "is_span", "roles", "clip"),
    [
        (None, False, ("user", "context", "answer"), None),
        (None, True, ("answer",), None),
        ("tools", False, ("context",), None),
        ("tools", True, ("context",), Field("context", 20, 25)),
        ("context", True, ("context",), None),
        ("prompt", True, ("user",), None),
        (["answer"], True, ("answer",), None),
        (["answer", "request", "user"], False, ("user", "answer"), None),
    ],
)
def test_over(over: Any, is_span: bool, roles: tuple[str, ...], clip: Field | None) -> None:
    assert resolve_over(over, STATE, is_span=is_span) == (roles, clip)


@pytest.mark.parametrize(
    ("state", "role"), [("x", "user"), ({"notes": "x"}, "context"), ({"user": "x", "answer": "y"}, "answer")]
)
def test_a_span_reads_the_answer_first(state: Any, role: str) -> None:
    assert resolve_over(None, read_state(state), is_span=True)[0] == (role,)


@pytest.mark.parametrize("over", ["missing", "Tools", 3, [], [3], ["answer", "nope"], {"a": 1}, "document "])
def test_over_that_names_nothing(over: Any) -> None:
    with pytest.raises(InvalidQuestion, match="over"):
        resolve_over(over, STATE, is_span=False)


def test_a_span_reads_one_part() -> None:
    with pytest.raises(InvalidQuestion, match="one part"):
        resolve_over(["request", "answer"], STATE, is_span=True)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"type": "choice", **AB, "threshold": 0.5}, r"choice questions do not take \['threshold'\]"),
        ({"type": "set", **AB, "head": "router"}, r"set questions do not take \['head'\]"),
        ({"type": "set", **AB, "colour": 1}, r"set questions do not take \['colour'\]"),
        ({"type": "set", **AB, "threshold": 2}, "threshold must be"),
        ({"type": "set", **AB, "threshold": True}, "threshold must be"),
        ({"type": "span", **AB, "threshold": "0.5"}, "threshold must be"),
        ({"type": "span", **AB, "threshold": float("nan")}, "threshold must be"),
        ({"type": "span", **AB, "head": "broad"}, "head must be one of"),
        ({"type": "span", **AB, "head": 1}, "head must be one of"),
        ({"type": "span", **TEXT, "criteria": {}}, "criteria must name 1 to 255 options"),
        ({"type": "choice", **AB, "overflow": "cut"}, "overflow must be"),
        ({"type": "choice", **AB, "overflow": None}, "overflow must be"),
        ({"type": "choice", **AB, "overflow": ["window"]}, "overflow must be"),
        ({"type": "choice", **AB, "overflow": "truncate", "require_full_input": True}, "use one of them"),
        ({"type": "choice", **AB, "require_full_input": 1}, "require_full_input must be"),
        ({"type": "box", **TEXT}, "type must be one of"),
        ({"preset": "toxic"}, "preset must be one of"),
        ({"preset": 3}, "preset must be one of"),
        ({"preset": "pii", "instructions": "x"}, r"do not take \['instructions'\]"),
        ({"preset": "pii", "type": "set"}, "is a span question"),
        ({"preset": "relevance", "threshold": 0.5}, r"score questions do not take \['threshold'\]"),
    ],
)
def test_a_malformed_question_says_why(raw: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidQuestion, match=says):
        read(**raw)


def test_box_and_track_have_a_reason() -> None:
    refused = READER.read_all({"b": {"type": "box", **TEXT}, "n": {"type": "track"}}, STATE)
    assert [getattr(entry, "reason", None) for entry in refused.values()] == ["box_unsupported", "track_unsupported"]


def test_invalid_questions_fail_alone_and_echo_their_type() -> None:
    raws = {"ok": {"type": "noul", **TEXT}, "num": {"type": 7}, "text": "x", "pre": {"preset": "pii", "over": "no"}}
    found = READER.read_all(raws, STATE)
    assert isinstance(found["ok"], Asked)
    kinds = [entry.kind for entry in found.values() if isinstance(entry, Refused)]
    assert kinds == [7, None, None]


def test_a_label_answer_that_takes_anothers_place_fails_alone() -> None:
    raws = {"s": {"type": "set", **AB}, "s.a": {"type": "noul", **TEXT}, "t": {"type": "set", **AB}}
    found = READER.read_all(raws, STATE)
    refused = found["s"]
    assert isinstance(refused, Refused)
    assert (refused.kind, refused.error) == ("set", ItemError.INVALID_QUESTION)
    assert "s.<label>" in str(refused.message)
    assert isinstance(found["s.a"], Asked)
    assert isinstance(found["t"], Asked)
