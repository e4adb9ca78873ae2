"""Answers to a tool choice that leaves no choice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.generation.parsers.calls import CallDeltas
from vela_jax.generation.parsers.forced import ArrayStream, NamedStream, read_array


def streamed(text: str, size: int) -> tuple[str, list[tuple[str, str]]]:
    stream, content = ArrayStream(), ""
    calls: list[tuple[str, str]] = []
    for place in range(0, len(text), size):
        deltas = CallDeltas()
        content += stream.push(text[place : place + size], deltas)
        for delta in deltas.deltas:
            if delta.name is not None:
                calls.append((delta.name, ""))
            name, arguments = calls[delta.index]
            calls[delta.index] = (name, arguments + delta.arguments)
    return content + stream.flush(), calls


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_an_array_of_calls(size: int) -> None:
    text = '[{"name": "a", "parameters": {"x": "}]"}},\n {"name": "b", "parameters": {}}]'
    assert streamed(text, size) == ("", [("a", '{"x": "}]"}'), ("b", "{}")])
    assert [(call.name, call.arguments) for call in read_array(text) or ()] == [("a", '{"x": "}]"}'), ("b", "{}")]


@pytest.mark.parametrize("text", ["no array", "{", "[]", "5", '[{"name": 1}]', '["a"]', "[[[", '{"name": "a"}', ""])
def test_what_is_no_array_of_calls(text: str) -> None:
    assert read_array(text) is None


@pytest.mark.parametrize("text", ["no array", " [x", '[{"name": 1}]', '[{"nom": "a"}, 5]'])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_text_instead_of_an_array_is_content(text: str, size: int) -> None:
    assert streamed(text, size) == (text, [])


@settings(deadline=None, max_examples=150)
@given(text=st.text('[{}]":,name prmts1\\', max_size=60), size=st.integers(1, 9))
def test_any_text_is_read_the_same_in_all_parts(text: str, size: int) -> None:
    read_array(text)
    assert streamed(text, size) == streamed(text, max(len(text), 1))


@pytest.mark.parametrize("parts", [['{"a": 1}'], ["", '{"a"', ": 1}", ""]])
def test_all_text_is_arguments_of_the_named_tool(parts: list[str]) -> None:
    stream, found = NamedStream("t"), list[Any]()
    for part in parts:
        deltas = CallDeltas()
        assert stream.push(part, deltas) == ""
        found += deltas.deltas
    assert [delta.name for delta in found] == ["t", *[None] * (len(found) - 1)]
    assert json.loads("".join(delta.arguments for delta in found)) == {"a": 1}
    assert stream.flush() == ""
