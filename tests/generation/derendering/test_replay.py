"""Parsed chat: reasoning, tool calls, finish reasons, whole and in every way of cutting."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generation.derendering.asking import (
    USER,
    WEATHER,
    chat,
    chat_chunks,
    chunk,
    completion,
    cut,
    message_of,
    response,
)
from tests.generation.packages import ids_of, parsed_profile
from vela_jax.generation.refusals import BadValue

CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}\n</tool_call>'
ARGUMENTS = '{"city": "Oslo", "days": 2}'
TOOLS: dict[str, Any] = {"messages": USER, "tools": [WEATHER]}
NAMED = {**TOOLS, "tool_choice": WEATHER}
PROMPT = "<|start|>user:x<|end|><|start|>assistant:"
SIZES = [1, 2, 3, 5, 7, 1000]


def ids(text: str) -> list[int]:
    return ids_of(parsed_profile(), text)


def whole(text: str, request: Any = TOOLS, prompt: str = PROMPT, **members: Any) -> dict[str, Any]:
    answer = chat(parsed_profile(), ids(text), chat_request=request, prompt_token_ids=ids(prompt), **members)
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "stop"
    message: dict[str, Any] = choice["message"]
    return message


def streamed(text: str, size: int, request: Any = TOOLS, prompt: str = PROMPT) -> dict[str, Any]:
    chunks = [*cut(ids(text), size), chunk([], "stop")]
    answers = chat_chunks(parsed_profile(), chunks, chat_request=request, prompt_token_ids=ids(prompt))
    state = answers[-1]["stream_state"]
    assert state["output_token_ids"] == ids(text)
    assert state["output_chunk_lens"] == [len(each["choices"][0]["token_ids"]) for each in chunks[:-1]]
    message = message_of(answers)
    assert state["last_tool_call_ids"] == message["ids"]
    assert message["roles"] == ["assistant", *[None] * (len(answers) - 1)]
    return message


@pytest.mark.parametrize(
    ("text", "prompt", "reasoning", "content"),
    [
        ("<think>R</think>A", PROMPT, "R", "A"),
        ("R</think>A 🚀 漢", PROMPT, "R", "A 🚀 漢"),
        ("<think>never ends", PROMPT, "never ends", None),
        ("no mark", PROMPT, "no mark", None),
        ("open</think>A", PROMPT + "<think>", "open", "A"),
        ("plain", PROMPT + "<think></think>", None, "plain"),
        ("<think>R</think>a < b, <tool x> and <too", PROMPT, "R", "a < b, <tool x> and <too"),
        ("<think>R</think><tool_call>{broken</tool_call>", PROMPT, "R", "<tool_call>{broken</tool_call>"),
    ],
)
def test_reasoning_and_content(text: str, prompt: str, reasoning: str | None, content: str | None) -> None:
    message = whole(text, prompt=prompt)
    assert (message["reasoning"], message["content"]) == (reasoning, content)
    assert "tool_calls" not in message
    for size in SIZES:
        parts = streamed(text, size, prompt=prompt)
        assert (parts["reasoning"], parts["content"], parts["finish"]) == (reasoning, content, "stop")


@pytest.mark.parametrize("before", ["", "So: "])
@pytest.mark.parametrize("count", [1, 2])
def test_tool_calls(before: str, count: int) -> None:
    text = f"<think>R</think>{before}{CALL * count}"
    message = whole(text)
    assert message["content"] == (before or None)
    assert [(call["type"], call["function"]) for call in message["tool_calls"]] == [
        ("function", {"name": "weather", "arguments": ARGUMENTS})
    ] * count
    assert len({call["id"] for call in message["tool_calls"]}) == count
    for size in SIZES:
        parts = streamed(text, size)
        assert (parts["calls"], parts["content"]) == ([["weather", ARGUMENTS]] * count, before or None)
        assert (parts["finish"], parts["reasoning"]) == ("tool_calls", "R")
        assert all(each.startswith("chatcmpl-tool-") for each in parts["ids"])


def test_arguments_only_grow() -> None:
    answers = chat_chunks(
        parsed_profile(), cut(ids(f"</think>{CALL}"), 1), chat_request=TOOLS, prompt_token_ids=ids(PROMPT)
    )
    snapshots = [message_of(answers[: count + 1])["calls"] for count in range(len(answers))]
    texts = [calls[0][1] for calls in snapshots if calls]
    assert all(after.startswith(before) for before, after in pairwise(texts))
    assert texts[-1] == ARGUMENTS


def test_no_tools_no_calls() -> None:
    text = f"</think>{CALL}"
    for request in ({"messages": USER}, {**TOOLS, "tool_choice": "none"}):
        assert whole(text, request)["content"] == CALL
        assert streamed(text, 3, request)["content"] == CALL


def test_reasoning_may_be_left_out() -> None:
    request = {**TOOLS, "include_reasoning": False}
    assert whole("R</think>A", request)["reasoning"] is None
    parts = streamed("R</think>A", 2, request)
    assert (parts["reasoning"], parts["content"]) == (None, "A")


@pytest.mark.parametrize("size", SIZES)
def test_without_thinking_all_is_content(size: int) -> None:
    request = {**TOOLS, "chat_template_kwargs": {"enable_thinking": False}}
    assert whole("plain", request)["content"] == "plain"
    assert streamed("plain", size, request)["content"] == "plain"


@pytest.mark.parametrize("size", SIZES)
def test_a_named_tool(size: int) -> None:
    message = whole('R</think>{"a": 1}', NAMED)
    assert message["content"] == ""
    assert message["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"a": 1}'}
    parts = streamed('R</think>{"a": 1}', size, NAMED)
    assert (parts["calls"], parts["content"], parts["finish"]) == ([["weather", '{"a": 1}']], None, "stop")


@pytest.mark.parametrize("size", SIZES)
def test_a_required_tool(size: int) -> None:
    request = {**TOOLS, "tool_choice": "required"}
    text = '</think>[{"name": "weather", "parameters": {"city": "Oslo"}}, {"name": "b", "parameters": {}}]'
    calls = [["weather", '{"city": "Oslo"}'], ["b", "{}"]]
    message = whole(text, request)
    assert message["content"] == ""
    assert [[*call["function"].values()] for call in message["tool_calls"]] == calls
    assert whole("</think>words", request)["content"] == "words"
    parts = streamed(text, size, request)
    assert (parts["calls"], parts["finish"]) == (calls, "tool_calls")


@pytest.mark.parametrize("size", SIZES)
def test_one_call_when_calls_may_not_run_in_parallel(size: int) -> None:
    request = {**TOOLS, "parallel_tool_calls": False}
    answers = chat_chunks(
        parsed_profile(), cut(ids(f"</think>{CALL}{CALL}"), size), chat_request=request, prompt_token_ids=[1]
    )
    assert message_of(answers)["calls"] == [["weather", ARGUMENTS]]


def test_a_recorded_id_is_kept() -> None:
    first, second = cut(ids(f"</think>{CALL}"), 20)[:2], cut(ids(f"</think>{CALL}"), 20)[2:]
    members: dict[str, Any] = {"chat_request": TOOLS, "prompt_token_ids": [1]}
    answers = chat_chunks(parsed_profile(), first + second, **members)
    assert len(set(message_of(answers)["ids"])) == 1
    (again,) = chat_chunks(parsed_profile(), [chunk(ids(f"</think>{CALL}"))], **members)
    (other,) = chat_chunks(parsed_profile(), [chunk(ids(f"</think>{CALL}"))], **members)
    assert message_of([again])["ids"] != message_of([other])["ids"]


@pytest.mark.parametrize("size", SIZES)
def test_the_end_token_is_no_text(size: int) -> None:
    text = "R</think>A<|end|>"
    assert whole(text)["content"] == "A"
    assert streamed(text, size)["content"] == "A"
    kept = {**TOOLS, "include_stop_str_in_output": True}
    assert whole(text, kept)["content"] == "A<|end|>"
    assert streamed(text, size, kept)["content"] == "A<|end|>"


@pytest.mark.parametrize("size", SIZES)
def test_an_end_token_inside_is_text(size: int) -> None:
    assert streamed("</think>A<|end|>B", size)["content"] == "A<|end|>B"
    chunks = [*cut(ids("</think>A<|end|>"), size), chunk([], "length")]
    answers = chat_chunks(parsed_profile(), chunks, chat_request=TOOLS, prompt_token_ids=[1])
    assert message_of(answers)["content"] == "A<|end|>"


@pytest.mark.parametrize("missing", ["chat_request", "prompt_token_ids"])
def test_what_a_parser_needs(missing: str) -> None:
    members: dict[str, Any] = {"chat_request": TOOLS, "prompt_token_ids": [1]}
    del members[missing]
    with pytest.raises(BadValue, match=missing):
        chat_chunks(parsed_profile(), [chunk([65])], **members)
    if missing == "chat_request":
        with pytest.raises(BadValue, match=missing):
            chat(parsed_profile(), [65], **members)


def test_a_state_that_is_full() -> None:
    state = {"output_token_ids": [65] * 510, "output_chunk_lens": [510]}
    members: dict[str, Any] = {"chat_request": TOOLS, "prompt_token_ids": [1], "stream_state": state}
    chat_chunks(parsed_profile(), [chunk([65, 65])], **members)
    with pytest.raises(BadValue, match="max_model_len"):
        chat_chunks(parsed_profile(), [chunk([65, 65, 65])], **members)


def test_completions_are_never_parsed() -> None:
    text = f"<think>R</think>{CALL}"
    assert completion(parsed_profile(), response(ids(text)))["choices"][0]["text"] == text


MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>", '{"name": "a", "arguments": {"b": "🚀"}}', "text", "\n"]


@settings(deadline=None, max_examples=120)
@given(
    parts=st.lists(st.sampled_from(MARKS) | st.text('<>{}":,a', max_size=5), max_size=8),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    prompt=st.sampled_from(["", "<think>", "<think></think>"]),
    request_=st.sampled_from([TOOLS, {"messages": USER}, NAMED, {**TOOLS, "tool_choice": "required"}]),
)
def test_the_cut_changes_nothing(parts: list[str], sizes: tuple[int, int], prompt: str, request_: Any) -> None:
    text = "".join(parts)[:200] or "x"
    first, second = (streamed(text, size, request_, prompt) for size in sizes)
    for name in ("reasoning", "content", "calls", "finish"):
        assert first[name] == second[name]
    assert json.dumps(whole(text, request_, prompt))
