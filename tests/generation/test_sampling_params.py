"""Bounds and forms of sampling parameters."""

from __future__ import annotations

from typing import Any

import pytest

from vela_jax.generation.refusals import BadBody, BadValue, read_record
from vela_jax.generation.sampling_params import SamplingParams, bias_of


def read(**members: Any) -> SamplingParams:
    params = read_record(members, SamplingParams, "body.sampling_params")
    params.normalize()
    return params


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("n", 0), ("n", 16_385), ("n", "x"), ("presence_penalty", 2.1), ("frequency_penalty", -2.1),
        ("repetition_penalty", 0), ("temperature", -0.1), ("temperature", 2.1), ("top_p", 0), ("top_p", 1.1),
        ("top_k", -2), ("min_p", -0.1), ("min_p", 1.1), ("stop", ""), ("stop", ["a", ""]), ("stop", 3),
        ("bad_words", [""]), ("max_tokens", 0), ("min_tokens", -1), ("min_tokens", 17), ("logprobs", -2),
        ("prompt_logprobs", -2), ("logprob_token_ids", list(range(129))), ("allowed_token_ids", []),
        ("structured_outputs", {}), ("structured_outputs", {"regex": "a", "json": {}}), ("stream_interval", 0),
        ("thinking_token_budget", -2), ("thinking_token_budget", 1.5), ("seed", 2**63), ("stop_token_ids", ["a"]),
        ("repetition_detection", {"max_pattern_size": 1, "min_count": 1}),
        ("repetition_detection", {"max_pattern_size": 1, "min_pattern_size": 2, "min_count": 2}),
    ],
)  # fmt: skip
def test_out_of_bounds(member: str, value: Any) -> None:
    with pytest.raises(BadBody) as caught:
        read(**{member: value})
    assert caught.value.param is not None
    assert member in caught.value.param


@pytest.mark.parametrize(
    "members",
    [
        {"detokenize": False, "stop": ["x"]},
        {"temperature": 0, "n": 2},
        {"logprob_token_ids": [1, 2], "logprobs": 3},
    ],
)
def test_members_that_do_not_go_together(members: dict[str, Any]) -> None:
    with pytest.raises(BadBody):
        read(**members)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, {"max_tokens": 16, "stop": [], "stop_token_ids": [], "bad_words": [], "skip_reading_prefix_cache": False}),
        ({"logprobs": True, "prompt_logprobs": False}, {"logprobs": 1, "prompt_logprobs": 0}),
        ({"max_tokens": None, "min_tokens": 90}, {"max_tokens": None, "min_tokens": 90}),
        ({"temperature": 0.5e-5}, {"temperature": 0.01}),
        ({"temperature": 0, "top_p": 0.5, "top_k": 3, "min_p": 0.1}, {"top_p": 1.0, "top_k": 0, "min_p": 0.0}),
        ({"logit_bias": {"7": 1}, "unknown": 1}, {"logit_bias": {7: 1.0}}),
        ({"bad_words": ["a", "a"]}, {"bad_words": ["a"]}),
    ],
)
def test_one_form(members: dict[str, Any], expected: dict[str, Any]) -> None:
    params = read(**members)
    assert {name: getattr(params, name) for name in expected} == expected


def test_bias_keys() -> None:
    assert bias_of({"5": 200, "-1": -300, "7": 1}) == {5: 100.0, -1: -100.0, 7: 1.0}
    assert bias_of(None) is None
    for key in ("a", "1.5", "", "9" * 40, "²"):
        with pytest.raises(BadValue):
            bias_of({key: 1.0})


def test_what_is_no_object() -> None:
    with pytest.raises(BadBody, match="must be an object"):
        read_record([1], SamplingParams, "body.sampling_params")
