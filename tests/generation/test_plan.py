"""What one model takes of a request, and how its tokens are chosen (token-in/token-out contract, sections 4 and 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.generation.networks import Sink
from tests.generation.packages import parsed_profile, plain_profile
from vela_jax.generation.plan import MAX_BAD_WORDS, MAX_STOPS, Planner
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadValue
from vela_jax.generation.requests import read_generate
from vela_jax.generation.sequence import Generated
from vela_jax.generation.spec import EngineOptions

BEYOND = (2**31, 2**32 + 5, 2**63, 2**64)


def plan(
    profile: Profile | None = None, options: EngineOptions | None = None, ids: list[int] | None = None, **params: Any
) -> list[Generated]:
    members = params.pop("members", {})
    request, given = read_generate({"token_ids": ids or [1, 2, 3], "sampling_params": params, **members})
    planner = Planner(profile or parsed_profile(), options or EngineOptions())
    return planner.sequences(request, given, 100, Sink())


@pytest.mark.parametrize(
    ("params", "most"), [({}, 509), ({"max_tokens": None}, 509), ({"max_tokens": 16}, 16), ({"max_tokens": 9}, 9)]
)
def test_without_max_tokens_the_context_is_filled(params: dict[str, Any], most: int) -> None:
    assert plan(**params)[0].rules.max_tokens == most


def test_the_generation_config_bounds_an_absent_max_tokens() -> None:
    assert plan(plain_profile())[0].rules.max_tokens == 40
    assert plan(plain_profile(), max_tokens=None)[0].rules.max_tokens == 253


@pytest.mark.parametrize("wrong", [320, *BEYOND])
def test_an_id_beyond_the_vocabulary_is_refused(wrong: int) -> None:
    with pytest.raises(BadValue, match="token_ids"):
        plan(ids=[1, wrong])
    for name in ("stop_token_ids", "allowed_token_ids", "logprob_token_ids"):
        refused: dict[str, Any] = {name: [wrong]}
        with pytest.raises(BadValue, match=name):
            plan(**refused)
    with pytest.raises(BadValue, match="logit_bias"):
        plan(logit_bias={str(wrong): 1})


def test_the_last_id_of_the_vocabulary_is_taken() -> None:
    assert plan(ids=[319], stop_token_ids=[319], allowed_token_ids=[319], logit_bias={"319": 2.0})


@pytest.mark.parametrize(("length", "fits"), [(511, True), (512, False), (600, False)])
def test_a_prompt_and_one_token_must_fit(length: int, fits: bool) -> None:
    if fits:
        assert plan(ids=[1] * length)[0].rules.room == 1
    else:
        with pytest.raises(BadValue, match="max_model_len"):
            plan(ids=[1] * length)


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"n": 65}, "n"),
        ({"n": 16384}, "n"),
        ({"logprobs": 21}, "logprobs"),
        ({"logprobs": -1}, "logprobs"),
        ({"prompt_logprobs": 21}, "prompt_logprobs"),
        ({"structured_outputs": {"regex": "a"}}, "structured_outputs"),
        ({"thinking_token_budget": 4}, "thinking_token_budget"),
        ({"stop": ["x"] * (MAX_STOPS + 1)}, "stop"),
        ({"bad_words": [str(n) for n in range(MAX_BAD_WORDS + 1)]}, "bad_words"),
        ({"bad_words": ["  "]}, "bad_words"),
        ({"members": {"priority": 1}}, "priority"),
        ({"members": {"features": {"mm_hashes": {}, "mm_placeholders": {}}}}, "features"),
    ],
)
def test_what_this_model_does_not_take_is_refused(params: dict[str, Any], param: str) -> None:
    with pytest.raises(BadValue) as refused:
        plan(**params)
    assert refused.value.param == param


def test_no_bound_on_log_probabilities_is_possible() -> None:
    assert plan(replace(parsed_profile(), max_logprobs=-1), logprobs=-1)[0].choice.logprobs == -1


def test_priority_goes_before_arrival_where_it_is_on() -> None:
    options = EngineOptions(scheduling="priority")
    assert plan(options=options, members={"priority": -3})[0].order == (-3, 100)


def test_sequences_of_one_request_have_their_own_seeds() -> None:
    assert [each.choice.seed for each in plan(n=3, seed=41)] == [41, 42, 43]
    assert len({each.choice.seed for each in plan(n=3)}) == 3


def test_ends_of_the_package_stop_unless_they_are_ignored() -> None:
    assert plan(stop_token_ids=[7])[0].rules.stop_ids == {7, 256}
    ignoring = plan(stop_token_ids=[7], ignore_eos=True, min_tokens=2)[0]
    assert ignoring.rules.stop_ids == {7}
    assert ignoring.choice.unripe == (7, 256)


@pytest.mark.parametrize(
    ("params", "plain"),
    [
        ({"temperature": 0}, True),
        ({"temperature": 1e-6}, False),  # raised to the coldest
        ({"temperature": 1}, False),
        ({"temperature": 0, "repetition_penalty": 1.1}, False),
        ({"temperature": 0, "min_tokens": 1}, False),
        ({"temperature": 0, "logit_bias": {"1": 1}}, False),
        ({"temperature": 0, "bad_words": ["x"]}, False),
    ],
)
def test_what_needs_no_draw(params: dict[str, Any], plain: bool) -> None:
    assert plan(**params)[0].choice.is_plain is plain
