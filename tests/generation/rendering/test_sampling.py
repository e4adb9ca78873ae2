"""Sampling parameters of a rendered request, written in full."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.generation.packages import parsed_profile, plain_profile
from vela_jax.generation.profile import Profile
from vela_jax.generation.rendering.renderer import Renderer, read_chat, read_completion
from vela_jax.generation.sampling_params import SamplingParams

TOOL = {"type": "function", "function": {"name": "weather"}}


def of_chat(profile: Profile | None = None, **members: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": "Hi"}], **members}
    return Renderer(profile or parsed_profile()).chat(body, read_chat(body)).sampling_params


def of_completion(**members: Any) -> dict[str, Any]:
    (rendered,) = Renderer(plain_profile()).completions(read_completion({"prompt": [5], **members}))
    return rendered.sampling_params


def test_every_member_is_written() -> None:
    written = of_chat()
    assert list(written) == [field.name for field in msgspec.structs.fields(SamplingParams)]
    assert (written["stop"], written["stop_token_ids"], written["bad_words"]) == ([], [], [])
    assert written["output_kind"] == 2


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "repetition_penalty": 1.0}),
        ({"temperature": 0.123, "top_p": 0.456, "frequency_penalty": 1.1},
         {"temperature": 0.123, "top_p": 0.456, "frequency_penalty": 1.1}),
        ({"temperature": 0}, {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}),
        ({"temperature": 0.001}, {"temperature": 0.01}),
        ({"top_k": -1, "n": 2, "seed": -1}, {"top_k": 0, "n": 2, "seed": None}),
        ({"logit_bias": {"5": 250, "6": -0.5}}, {"logit_bias": {"5": 100.0, "6": -0.5}}),
        ({"stop": "x", "stop_token_ids": [5, 5, 6]}, {"stop": ["x"], "stop_token_ids": [5, 6]}),
        ({"logprobs": True}, {"logprobs": 0}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": 3}),
        ({"logprobs": True, "top_logprobs": 3, "echo": True},
         {"prompt_logprobs": 3, "skip_reading_prefix_cache": True}),
        ({"prompt_logprobs": 2}, {"prompt_logprobs": 2}),
        ({"max_tokens": 16}, {"max_tokens": 16}),
        ({"max_completion_tokens": 9, "max_tokens": 30}, {"max_tokens": 9}),
        ({"tools": [TOOL]}, {"skip_special_tokens": False}),
        ({"tools": [TOOL], "tool_choice": "none"}, {"skip_special_tokens": True}),
        ({"response_format": {"type": "json_object"}}, {"structured_outputs": {"json_object": True}}),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "string"}}}},
         {"structured_outputs": {"json": {"type": "string"}}}),
        ({"response_format": {"type": "structural_tag", "a": 1}},
         {"structured_outputs": {"structural_tag": '{"type":"structural_tag","a":1}'}}),
        ({"response_format": {"type": "text"}}, {"structured_outputs": None}),
        ({"thinking_token_budget": -1}, {"thinking_token_budget": None}),
        ({"repetition_detection": {"max_pattern_size": 4, "min_count": 2}},
         {"repetition_detection": {"max_pattern_size": 4, "min_pattern_size": 0, "min_count": 2}}),
        ({"kv_transfer_params": {"a": 1}}, {"extra_args": {"kv_transfer_params": {"a": 1}}}),
    ],
)  # fmt: skip
def test_members_of_chat(members: dict[str, Any], expected: dict[str, Any]) -> None:
    written = of_chat(**members)
    assert {name: written[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, {"max_tokens": 16, "repetition_penalty": 1.1, "temperature": 1.0, "logprobs": None}),
        ({"max_tokens": None}, {"max_tokens": 16}),
        ({"max_tokens": 77}, {"max_tokens": 77}),
        ({"echo": True, "max_tokens": 0, "logprobs": 2}, {"max_tokens": 1, "logprobs": 2, "prompt_logprobs": 2}),
        ({"logprobs": True}, {"logprobs": 1}),
    ],
)
def test_members_of_completions(members: dict[str, Any], expected: dict[str, Any]) -> None:
    written = of_completion(**members)
    assert {name: written[name] for name in expected} == expected


def test_output_is_bounded_by_the_package_then_by_the_room() -> None:
    assert of_chat(plain_profile())["max_tokens"] == 40
    prompt = len("<|start|>user:Hi<|end|><|start|>assistant:") - len("<|start|>" * 2 + "<|end|>") + 3
    assert of_chat()["max_tokens"] == 512 - prompt
