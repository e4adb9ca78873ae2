"""Rendering of conversations and prompts, without a device."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.generation.packages import ids_of, parsed_profile, plain_profile
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadBody, BadValue
from vela_jax.generation.rendering.renderer import Renderer, read_chat, read_completion
from vela_jax.generation.rendering.requests import GenerateRequest

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {}}}
HELLO = [{"role": "user", "content": "Hi"}]
START = "<|start|>user:Hi<|end|><|start|>assistant:"


def chat(profile: Profile | None = None, **members: Any) -> GenerateRequest:
    body = {"messages": HELLO, **members}
    return Renderer(profile or parsed_profile()).chat(body, read_chat(body))


def complete(profile: Profile | None = None, **members: Any) -> list[GenerateRequest]:
    return Renderer(profile or parsed_profile()).completions(read_completion(members))


def text_of(rendered: GenerateRequest, profile: Profile | None = None) -> str:
    return (profile or parsed_profile()).vocabulary.decode(rendered.token_ids)


def test_a_conversation() -> None:
    rendered = chat(model="m", cache_salt="pepper", priority=3, kv_transfer_params={"a": 1})
    assert text_of(rendered) == START
    assert rendered.request_id.startswith("chatcmpl-")
    assert (rendered.model, rendered.stream, rendered.stream_options) == ("m", False, None)
    assert (rendered.cache_salt, rendered.priority, rendered.kv_transfer_params) == ("pepper", 3, {"a": 1})
    assert (rendered.token_offsets, rendered.features, rendered.output_mode) == (None, None, "tokens")


def test_a_stream_is_copied_and_answered_whole() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    rendered = msgspec.to_builtins(chat(stream=True, stream_options=options))
    assert (rendered["stream"], rendered["stream_options"]) == (True, options)
    assert rendered["sampling_params"]["output_kind"] == 1


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"messages": [{"role": "system", "content": "S"}, *HELLO]}, "<|start|>system:S<|end|>" + START),
        ({"add_generation_prompt": False}, "<|start|>user:Hi<|end|>"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}, START),
        (
            {"messages": [{"role": "user", "content": ["H", {"type": "input_text", "text": "i"}]}]},
            START.replace("Hi", "H\ni"),
        ),
        ({"messages": [{"role": "user", "content": None}]}, START.replace("Hi", "")),
        ({"tools": [TOOL]}, "[weather ]" + START),
        ({"tools": [TOOL], "tool_choice": "none"}, "[weather ]" + START),
        ({"chat_template_kwargs": {"enable_thinking": False}}, START + "<think></think>"),
        ({"reasoning_effort": "none"}, START + "<think></think>"),
        ({"reasoning_effort": "low"}, START),
        ({"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}}, START),
        (
            {"messages": [*HELLO, {"role": "assistant", "content": "The", "reasoning_content": "R"}]},
            "<|start|>user:Hi<|end|><|start|>assistant:The<|end|>(R)<|start|>assistant:",
        ),
        (
            {"messages": [*HELLO, {"role": "assistant", "content": "The"}], "continue_final_message": True},
            "<|start|>user:Hi<|end|><|start|>assistant:The",
        ),
    ],
)
def test_what_the_template_sees(members: dict[str, Any], text: str) -> None:
    assert text_of(chat(**members)) == text


@pytest.mark.parametrize("arguments", ['{"city": "Oslo"}', {"city": "Oslo"}, "", None])
def test_arguments_of_calls_are_objects_to_the_template(arguments: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    written = '{"city": "Oslo"}' if arguments else "{}"
    assert text_of(chat(messages=messages)) == f"<|start|>assistant:<|end|>{written}<|start|>assistant:"


def test_a_template_that_loops_over_content_reads_parts() -> None:
    source = (
        "{%- for message in messages %}{%- for part in message.content %}{{- part.text }}{%- endfor %}{%- endfor %}"
    )
    profile = Profile(
        vocabulary=parsed_profile().vocabulary, vocabulary_size=320, max_model_len=64, templates={"default": source}
    )
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}]}]
    assert text_of(chat(profile, messages=messages)) == "ab"


def test_tools_may_have_a_template_of_their_own() -> None:
    profile = Profile(
        vocabulary=parsed_profile().vocabulary,
        vocabulary_size=320,
        max_model_len=64,
        templates={"default": "d", "tool_use": "t"},
        tool_parser="hermes",
    )
    assert text_of(chat(profile)) == "d"
    assert text_of(chat(profile, tools=[TOOL])) == "t"


def test_one_start_token_however_it_is_rendered() -> None:
    profile = plain_profile()
    (start,) = ids_of(profile, "<s>")
    rendered = chat(profile)
    assert rendered.token_ids.count(start) == 1
    (again,) = complete(profile, prompt=rendered.token_ids)
    assert again.token_ids == rendered.token_ids


def test_offsets_are_places_in_the_text() -> None:
    rendered = chat(return_token_offsets=True, messages=[{"role": "user", "content": "é🚀"}])
    text = START.replace("Hi", "é🚀")
    assert rendered.token_offsets is not None
    assert len(rendered.token_offsets) == len(rendered.token_ids)
    assert all(0 <= start <= end <= len(text) for start, end in rendered.token_offsets)
    place = text.index("🚀")
    assert rendered.token_offsets.count((place, place + 1)) == 4  # bytes of one character


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ({"truncate_prompt_tokens": 3}, "def"),
        ({"truncate_prompt_tokens": 3, "truncation_side": "right"}, "abc"),
        ({"truncate_prompt_tokens": 100}, "abcdef"),
        ({"truncate_prompt_tokens": -1, "max_tokens": 508}, "cdef"),
    ],
)
def test_truncation_keeps_places(members: dict[str, Any], kept: str) -> None:
    (rendered,) = complete(prompt="abcdef", return_token_offsets=True, **members)
    assert text_of(rendered) == kept
    first = "abcdef".index(kept)
    assert rendered.token_offsets == [(first + place, first + place + 1) for place in range(len(kept))]
    (again,) = complete(prompt=ids_of(parsed_profile(), "abcdef"), **members)
    assert again.token_ids == rendered.token_ids


@pytest.mark.parametrize(("prompt", "count"), [("a", 1), (["a", "b"], 2), ([1, 2], 1), ([[1], [2, 3]], 2), (["a"], 1)])
def test_prompts_in_all_forms(prompt: Any, count: int) -> None:
    rendered = complete(prompt=prompt, return_token_offsets=True)
    assert len(rendered) == count
    assert len({each.request_id for each in rendered}) == count
    for each in rendered:
        assert each.request_id.startswith("cmpl-")
        assert (each.token_offsets is None) == (not isinstance(prompt, str) and not isinstance(prompt[0], str))


@pytest.mark.parametrize(
    "members",
    [
        {"messages": []},
        {"tools": [TOOL] * 600, "tool_choice": "none"},
        {"messages": HELLO * 600},
        {"messages": [{"role": "user", "content": "x" * 600}]},
        {"messages": [{"role": "user", "content": "x" * 100_000}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}]},
        {"chat_template": "x"},
        {"chat_template_kwargs": {"chat_template": "x"}},
        {"chat_template_kwargs": {"messages": []}},
        {"chat_template_kwargs": {"tools": []}},
        {"max_tokens": 513},
        {"max_tokens": 512},
        {"use_beam_search": True},
        {"logit_bias": {"x": 1}},
    ],
)
def test_refused_values(members: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        chat(**members)


@pytest.mark.parametrize(
    "members",
    [
        {"messages": "hi"},
        {"messages": [{"content": "x"}]},
        {"messages": [{"role": "user", "content": 3}]},
        {"messages": [{"role": "user", "content": [3]}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"messages": [{"role": "user", "content": "x", "reasoning": 3}]},
        {"messages": [{"role": "assistant", "tool_calls": 3}]},
        {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
        {"tools": []},
        {"tools": [{"type": "other"}]},
        {"tools": [{"type": "function", "function": {"name": ""}}]},
        {"tool_choice": "auto"},
        {"tools": [TOOL], "tool_choice": "maybe"},
        {"tools": [TOOL], "tool_choice": {"type": "function"}},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "fly"}}},
        {"continue_final_message": True, "add_generation_prompt": True},
        {"stream_options": {"include_usage": True}},
        {"stream": True, "prompt_logprobs": -1},
        {"top_logprobs": 2},
        {"logprobs": True, "top_logprobs": -2},
        {"response_format": {"type": "json_schema"}},
        {"response_format": {"type": "other"}},
        {"response_format": {"type": "json_object"}, "structured_outputs": {"regex": "a"}},
        {"structured_outputs": {"regex": "a", "choice": ["b"]}},
        {"truncate_prompt_tokens": -2},
        {"cache_salt": ""},
        {"cache_salt": "a@b"},
        {"cache_salt": "a" * 129},
        {"priority": 2**63},
        {"n": 0},
        {"temperature": -1},
        {"temperature": 0, "n": 2},
        {"stop": [""]},
    ],
)
def test_refused_bodies(members: dict[str, Any]) -> None:
    with pytest.raises(BadBody):
        chat(**members)


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "weather"}}, None])
def test_a_choice_of_tools_needs_a_parser(choice: Any) -> None:
    members = {"tools": [TOOL]} if choice is None else {"tools": [TOOL], "tool_choice": choice}
    with pytest.raises(BadValue, match="needs a tool parser"):
        chat(plain_profile(), **members)


def test_what_a_template_says_is_passed_on() -> None:
    with pytest.raises(BadValue, match="no critic"):
        chat(plain_profile(), messages=[{"role": "critic", "content": "x"}])


def test_a_package_without_a_template() -> None:
    profile = Profile(vocabulary=parsed_profile().vocabulary, vocabulary_size=320, max_model_len=64)
    with pytest.raises(BadValue, match="no chat template"):
        chat(profile)


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({}, BadBody),
        ({"prompt": {"a": 1}}, BadBody),
        ({"prompt": []}, BadBody),
        ({"prompt": ["a", 1]}, BadBody),
        ({"prompt": [True]}, BadBody),
        ({"prompt": ["a"] * 16_385}, BadBody),
        ({"prompt": "a", "logprobs": -2}, BadBody),
        ({"prompt": ""}, BadValue),
        ({"prompt": [[]]}, BadValue),
        ({"prompt": [-1]}, BadValue),
        ({"prompt": [320]}, BadValue),
        ({"prompt": [2**63]}, BadValue),
        ({"prompt": [1] * 512}, BadValue),
        ({"prompt": "a", "suffix": "b"}, BadValue),
        ({"prompt": "a", "prompt_embeds": "x"}, BadValue),
        ({"prompt": "a", "max_tokens": 513}, BadValue),
        ({"prompt": "ab", "max_tokens": 511}, BadValue),
    ],
)
def test_refused_completions(members: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        complete(**members)
