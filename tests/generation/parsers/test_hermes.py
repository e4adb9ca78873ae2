"""Tool calls between marks, at once and in parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.generation.parsers.calls import CallDeltas, ToolCall
from vela_jax.generation.parsers.hermes import HermesStream, read_calls


def call(name: str, arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"


def streamed(text: str, size: int) -> tuple[str, list[tuple[str, str]]]:
    """Content and calls of a text that comes in parts; checks that a call is named once and first."""
    stream, content = HermesStream(), ""
    calls: list[tuple[str, str]] = []
    for place in range(0, len(text), size):
        deltas = CallDeltas()
        content += stream.push(text[place : place + size], deltas)
        for delta in deltas.deltas:
            if delta.name is not None:
                assert delta.index == len(calls)
                calls.append((delta.name, ""))
            name, arguments = calls[delta.index]
            calls[delta.index] = (name, arguments + delta.arguments)
    return content + stream.flush(), calls


WEATHER = {"city": "Oslo", "days": 2}
NESTED = {"x": [1, {"y": "}"}]}
MARKED = {"text": '東京 {a} "b" \\ ü </tool_call>'}
NAMELESS = '<tool_call>{"name": "", "arguments": {}}</tool_call>'
NUMBERED = '<tool_call>{"name": 3, "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        (call("a", WEATHER), None, [("a", WEATHER)]),
        ("\n\n" + call("a", {}), None, [("a", {})]),
        ("So: " + call("a", WEATHER) + "\n" + call("b", NESTED), "So: ", [("a", WEATHER), ("b", NESTED)]),
        ('<tool_call>{"name": "a", "arguments": {"x": 1}}', None, [("a", {"x": 1})]),
        ('<tool_call>{"arguments": {"x": 1}, "name": "a"}</tool_call>', None, [("a", {"x": 1})]),
        (call("note", MARKED), None, [("note", MARKED)]),
        (call("a", "text"), None, [("a", "text")]),
        (call("a", 5), None, [("a", 5)]),
        (call("a", None), None, [("a", None)]),
        ("plain < text <tool", "plain < text <tool", []),
        ("<tool_call>\n{name: broken\n</tool_call>", "<tool_call>\n{name: broken\n</tool_call>", []),
        (NAMELESS, NAMELESS, []),
        ("<tool_call>[1]</tool_call> x", "<tool_call>[1]</tool_call> x", []),
        (NUMBERED, NUMBERED, []),
        ("<tool_call>", "<tool_call>", []),
        ("", None, []),
    ],
)  # fmt: skip
def test_whole_and_in_parts(text: str, content: str | None, calls: list[tuple[str, Any]]) -> None:
    found, whole = read_calls(text)
    assert (found, [(each.name, json.loads(each.arguments)) for each in whole]) == (content, calls)
    for size in (1, 2, 3, 5, 7, max(len(text), 1)):
        parts, streams = streamed(text, size)
        assert (parts if parts.strip() else None) == content
        assert [(name, json.loads(arguments)) for name, arguments in streams] == calls


@pytest.mark.parametrize(
    "text",
    ['<tool_call>{"name": "a"}</tool_call>', '<tool_call>{"name": "a", "arguments": {"x": 1}</tool_call>'],
)
def test_a_call_that_breaks_is_content_as_a_whole(text: str) -> None:
    assert read_calls(text) == (text, [])


def test_arguments_are_written_without_escapes() -> None:
    assert read_calls('<tool_call>{"name": "a", "arguments": {"x":"\\u00fc"}}</tool_call>')[1] == [
        ToolCall("a", '{"x": "ü"}')
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_arguments_only_grow_and_join_to_the_whole(size: int) -> None:
    text = call("note", {"text": 'a "quoted" \\ mark, {braces}', "more": [[], {}, "</tool_call>"]})
    ((_, arguments),) = streamed(text, size)[1]
    assert arguments == read_calls(text)[1][0].arguments


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=120)
@given(calls=st.lists(st.tuples(st.text(min_size=1, max_size=6), JSON), min_size=1, max_size=3), size=st.integers(1, 9))
def test_any_calls_in_any_parts(calls: list[tuple[str, Any]], size: int) -> None:
    text = "".join(call(name, arguments) for name, arguments in calls)
    expected = [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls]
    assert [(each.name, each.arguments) for each in read_calls(text)[1]] == expected
    content, streams = streamed(text, size)
    assert (content, streams) == ("", expected)


@settings(deadline=None, max_examples=200)
@given(text=st.text('<tool_cal>/{}[]":,name arguments1\\', max_size=80), size=st.integers(1, 9))
def test_any_text_is_read_the_same_in_all_parts(text: str, size: int) -> None:
    read_calls(text)
    assert streamed(text, size) == streamed(text, max(len(text), 1))
