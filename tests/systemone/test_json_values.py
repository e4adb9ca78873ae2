"""JSON values as content."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vela_jax.systemone.json_values import canonical_json, content_text, is_content, is_structured

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize("value", [{}, [], {"a": [1, None, True, "x", 1.5]}, [{"b": {}}], "x", " x "])
def test_content(value: Any) -> None:
    assert is_content(value)


@pytest.mark.parametrize(
    "value", [None, 3, 1.5, True, "", " \n\t", {"a": math.nan}, [math.inf], {"a": {3: "x"}}, [object()]]
)
def test_no_content(value: Any) -> None:
    assert not is_content(value)


def test_deep_nesting_is_walked_without_recursion() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert is_structured(deep)


@pytest.mark.parametrize(
    ("value", "text"),
    [({"x": [1]}, '{"x":[1]}'), ({"b": 1, "a": "é"}, '{"a":"é","b":1}'), ({"Z": 1, "a": 2}, '{"Z":1,"a":2}')],
)
def test_canonical_json(value: Any, text: str) -> None:
    assert canonical_json(value) == text
    assert content_text(value) == text


def test_text_is_its_own_content() -> None:
    assert content_text(" as is ") == " as is "


@given(VALUES)
def test_every_structured_value_has_a_canonical_text(value: Any) -> None:
    if is_structured(value):
        assert canonical_json(value)
