"""States as typed parts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from vela_jax.contract import InvalidRequest
from vela_jax.families.vela2.parts import Field, read_state

SEVERAL: dict[str, Any] = {"prompt": "Q?", "source": "doc", "notes": {"n": 1}, "response": "A."}


@pytest.mark.parametrize(
    ("state", "parts"),
    [
        ("hello", {"user": "hello"}),
        (' {"request": "hi", "answer": "yes"}', {"user": "hi", "answer": "yes"}),
        (SEVERAL, {"user": "Q?", "context": 'source:\ndoc\n\nnotes:\n{"n":1}', "answer": "A."}),
        (["a", {"b": 1}], {"user": '["a",{"b":1}]'}),
        ([], {"user": "[]"}),
        ("[1]", {"user": "[1]"}),
        ("{not json", {"user": "{not json"}),
        ('{"x": NaN}', {"user": '{"x": NaN}'}),
        ({"REQUEST": "a", "Answer": None}, {"user": "a", "answer": "null"}),
        ({"notes": "x"}, {"context": "notes:\nx"}),
        ({"user": "x", "prompt": 3}, {"user": "user:\nx\n\nprompt:\n3"}),
        ({"z": "1", "tools": ["é"], "a": ""}, {"context": 'z:\n1\n\ntools:\n["é"]\n\na:\n'}),
        ({"answer": "a", "request": "r"}, {"user": "r", "answer": "a"}),
    ],
)
def test_parts_of_a_state(state: Any, parts: dict[str, str]) -> None:
    found = read_state(state)
    assert dict(found.parts) == parts
    assert list(found.parts) == [role for role in ("user", "context", "answer") if role in parts]


def test_fields_are_the_places_of_values() -> None:
    found = read_state(SEVERAL)
    assert found.fields["prompt"] == Field("user", 0, 2)
    place = found.fields["notes"]
    assert found.parts[place.role][place.start : place.end] == '{"n":1}'
    assert read_state("hello").fields == {"request": Field("user", 0, 5)}


@pytest.mark.parametrize(
    "state", ["", "  \n", {}, None, 3, True, {"x": float("nan")}, {"request": " "}, '{"request":""}', "{}"]
)
def test_states_without_anything_to_read(state: Any) -> None:
    with pytest.raises(InvalidRequest, match="state"):
        read_state(state)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="surrogate"):
        read_state('{"request": "\\ud800"}')


@pytest.mark.parametrize(
    ("roles", "parts"),
    [
        (UNSET, {"user": "a", "context": "mail:\nb"}),
        (None, {"context": "request:\na\n\nmail:\nb"}),
        ({}, {"context": "request:\na\n\nmail:\nb"}),
        ({"mail": "answer"}, {"context": "request:\na", "answer": "b"}),
        ({"mail": "user", "request": "user"}, {"user": "request:\na\n\nmail:\nb"}),
    ],
)
def test_roles(roles: Any, parts: dict[str, str]) -> None:
    assert dict(read_state({"request": "a", "mail": "b"}, roles).parts) == parts


@pytest.mark.parametrize(
    ("state", "roles", "says"),
    [
        ({"a": "x"}, {"b": "user"}, r"keys that the state lacks: \['b'\]"),
        ({"a": "x"}, {"a": "boss"}, r"\['a'\] must be one of"),
        ("text", {"a": "user"}, "needs an object"),
        (["x"], {}, "needs an object"),
    ],
)
def test_roles_that_no_key_can_have(state: Any, roles: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        read_state(state, roles)


@settings(deadline=None, max_examples=200)
@given(
    st.dictionaries(
        st.sampled_from(["request", "user", "source", "x", "answer", "y"]),
        st.text("ab\n:{", min_size=1, max_size=6),
        min_size=1,
    )
)
def test_every_field_holds_its_value(state: dict[str, str]) -> None:
    try:
        found = read_state(state)
    except InvalidRequest:
        assert any(not value.strip() for value in state.values())
        return
    for key, value in state.items():
        place = found.fields[key]
        assert found.parts[place.role][place.start : place.end] == value
