"""Derendering without a parser: text, logprobs, usage, seeds, every way of cutting."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generation.derendering.asking import (
    chat,
    chat_chunks,
    chunk,
    completion,
    completion_chunks,
    cut,
    response,
    text_of,
)
from tests.generation.packages import ids_of, parsed_profile, plain_profile
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadBody, BadValue


@cache
def byte_profile() -> Profile:
    """The byte-level generator without its parsers."""
    return replace(parsed_profile(), reasoning_parser=None, tool_parser=None)


PROFILES = [byte_profile, plain_profile]
TEXTS = [
    "plain words, digits 0123.",
    "🚀🧊😀 end 👍🏽 👩‍🚀!",
    "漢字かな 谢谢你，再见。",
    "e\u0301 x\u0302 q\u0303 ñ ß",
    " a  b",
    "don't",
    " x",
    "1234567890",
    "def f():\n\treturn [1,\n\t\t2]\n\n\nend",
    "ends in 😀",
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", TEXTS)
def test_any_cut_equals_decoding_at_once(profile: Any, text: str) -> None:
    ids = ids_of(profile(), text)
    assert profile().vocabulary.decode(ids) == text
    (whole,) = completion(profile(), response(ids))["choices"]
    assert whole["text"] == text
    assert chat(profile(), ids)["choices"][0]["message"]["content"] == text
    for size in (1, 2, 3, 5, 7, len(ids)):
        assert text_of(completion_chunks(profile(), cut(ids, size))) == text


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("prompt", ["Say:", "漢", "a "])
def test_any_cut_goes_on_from_the_prompt(profile: Any, text: str, prompt: str) -> None:
    """What stands behind a prompt keeps its leading space."""
    vocabulary = profile().vocabulary
    before, ids = ids_of(profile(), prompt), ids_of(profile(), text)
    expected = vocabulary.decode([*before, *ids])[len(prompt) :]
    (whole,) = completion(profile(), response(ids), prompt_token_ids=[before])["choices"]
    assert whole["text"] == expected
    for size in (1, 2, 3, len(ids)):
        assert text_of(completion_chunks(profile(), cut(ids, size), prompt_token_ids=before)) == expected


@settings(deadline=None, max_examples=60)
@given(
    text=st.text(st.sampled_from("ab \n'🚀👍🏽漢字é\u0301ß01"), max_size=20),
    prompt=st.text(st.sampled_from("ab 漢"), max_size=4),
    size=st.integers(1, 6),
    fallback=st.booleans(),
)
def test_any_text_in_any_cut(text: str, prompt: str, size: int, fallback: bool) -> None:
    profile = plain_profile() if fallback else byte_profile()
    before, ids = ids_of(profile, prompt), ids_of(profile, text)
    expected = profile.vocabulary.decode([*before, *ids])[len(profile.vocabulary.decode(before)) :]
    assert text_of(completion_chunks(profile, cut(ids, size), prompt_token_ids=before)) == expected


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_odd_ids_are_pieces_without_text_in_a_stream(profile: Any, size: int) -> None:
    ids = [*ids_of(profile(), "a"), -1, 100_000, 2**31, 2**32 + 5, 2**63, *ids_of(profile(), "b")]
    assert text_of(completion_chunks(profile(), cut(ids, size))).replace(" ", "") == "ab"


def test_a_seed_comes_from_the_request_before_the_response() -> None:
    profile = plain_profile()
    prompt, ids = ids_of(profile, "Hello"), ids_of(profile, "one")
    assert completion(profile, response(ids))["choices"][0]["text"] == "one"
    own = response(ids, prompt_token_ids=prompt)
    assert completion(profile, own)["choices"][0]["text"] == " one"
    assert completion(profile, own, prompt_token_ids=[None])["choices"][0]["text"] == " one"
    assert completion(profile, own, prompt_token_ids=[[]])["choices"][0]["text"] == "one"
    assert completion(profile, response(ids), prompt_token_ids=[prompt])["choices"][0]["text"] == " one"
    first = chunk(ids, prompt_token_ids=prompt)
    assert text_of(completion_chunks(profile, [first])) == " one"
    assert text_of(completion_chunks(profile, [first], prompt_token_ids=[])) == "one"


@pytest.mark.parametrize("skip", [True, False])
def test_special_tokens_as_the_request_wants_them(skip: bool) -> None:
    profile, ids = byte_profile(), [65, 256, 66]
    text = "AB" if skip else "A<|end|>B"
    asked = {"prompt": "x", "skip_special_tokens": skip}
    assert completion(profile, response(ids), completion_request=asked)["choices"][0]["text"] == text
    assert text_of(completion_chunks(profile, cut(ids, 1), completion_request=asked)) == text
    chatted = {"messages": [], "skip_special_tokens": skip}
    assert chat(profile, ids, chat_request=chatted)["choices"][0]["message"]["content"] == text
    parts = [
        each["chunk"]["choices"][0]["delta"]["content"]
        for each in chat_chunks(profile, cut(ids, 1), chat_request=chatted)
    ]
    assert "".join(part or "" for part in parts) == text


def test_a_chat_completion_in_full() -> None:
    answer = chat(byte_profile(), [72, 105], prompt_tokens=10)
    assert answer.pop("created") > 0
    assert answer == {
        "id": "r", "object": "chat.completion", "model": "served",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant", "content": "Hi", "refusal": None, "annotations": None, "audio": None,
                    "function_call": None, "reasoning": None,
                },
                "logprobs": None, "finish_reason": "stop", "stop_reason": None, "token_ids": None,
                "routed_experts": None,
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "prompt_tokens_details": None},
        "service_tier": None, "system_fingerprint": None, "prompt_logprobs": None, "prompt_token_ids": None,
        "kv_transfer_params": None,
    }  # fmt: skip


def test_what_is_copied() -> None:
    body = response([72], prompt_logprobs=[None, None], kv_transfer_params={"key": "value"})
    answer = chat(byte_profile(), None, generate_response=body, model="mine")
    assert (answer["prompt_logprobs"], answer["kv_transfer_params"]) == ([None, None], {"key": "value"})
    assert (answer["model"], answer["usage"]["prompt_tokens"]) == ("mine", 0)


def test_completions_of_several_prompts() -> None:
    several = response(None)
    several["choices"] = [{"index": 0, "token_ids": [65]}, {"index": 1, "token_ids": [66], "finish_reason": "length"}]
    answer = completion(byte_profile(), several, {**response([67]), "request_id": "s"}, prompt_tokens=[5, 10])
    assert [(each["index"], each["text"], each["finish_reason"]) for each in answer["choices"]] == [
        (0, "A", "stop"), (1, "B", "length"), (2, "C", "stop")
    ]  # fmt: skip
    assert (answer["id"], answer["object"]) == ("r", "text_completion")
    assert answer["usage"] | {"prompt_tokens_details": None} == {
        "prompt_tokens": 15, "completion_tokens": 3, "total_tokens": 18, "prompt_tokens_details": None
    }  # fmt: skip


@pytest.mark.parametrize(("other", "common"), [({"a": 1}, {"a": 1}), ({"a": 2}, None), (None, None)])
def test_transfer_params_are_those_all_agree_on(other: Any, common: Any) -> None:
    first, second = response([65], kv_transfer_params={"a": 1}), response([65], kv_transfer_params=other)
    assert completion(byte_profile(), first, second)["kv_transfer_params"] == common


def test_usage_of_chunks() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    alone = chunk([], usage=usage)
    alone["choices"] = []
    answers = completion_chunks(byte_profile(), [alone, chunk([65], usage=usage), chunk([66])], prompt_token_ids=[97])
    assert [each["chunk"]["usage"] and each["chunk"]["usage"]["total_tokens"] for each in answers] == [4, 4, None]
    assert answers[0]["chunk"]["choices"] == []
    assert answers[0]["stream_state"]["prev_tokens"] == ["a"]
    (counted,) = completion_chunks(byte_profile(), [alone], prompt_tokens=10)
    assert counted["chunk"]["usage"]["prompt_tokens"] == 10


def test_the_role_comes_with_the_first_choice() -> None:
    leading = chunk([], usage={"prompt_tokens": 1, "completion_tokens": 0})
    leading["choices"] = []
    answers = chat_chunks(byte_profile(), [leading, chunk([65], index=3), chunk([], "stop", 3)])
    assert answers[0]["stream_state"]["role_sent"] is False
    first, second = answers[1]["chunk"]["choices"][0], answers[2]["chunk"]["choices"][0]
    assert (first["delta"]["role"], first["delta"]["content"], first["index"]) == ("assistant", "A", 3)
    assert (second["delta"]["role"], second["delta"]["content"], second["finish_reason"]) == (None, None, "stop")
    assert "tool_calls" not in first["delta"]


def test_logprobs_and_offsets_of_chunks() -> None:
    ids = [97, 226, 156, 133, 98]
    chunks = cut(ids, 2)
    for each in chunks:
        (choice,) = each["choices"]
        choice["logprobs"] = {"content": [{"token": f"token_id:{one}", "logprob": -0.5} for one in choice["token_ids"]]}
    answers = completion_chunks(byte_profile(), chunks)
    found = [answer["chunk"]["choices"][0]["logprobs"] for answer in answers]
    assert [each["tokens"] for each in found] == [["a", ""], ["", "✅"], ["b"]]
    assert [each["text_offset"] for each in found] == [[0, 1], [1, 1], [2]]
    assert answers[-1]["stream_state"]["logprob_context_token_ids"] == ids[-4:]
    (last,) = chat_chunks(byte_profile(), chunks)[1]["chunk"]["choices"]
    assert [entry["token"] for entry in last["logprobs"]["content"]] == ["", "✅"]


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (response([]), BadValue, "token_ids"),
        (response(None), BadValue, "token_ids"),
        (response([5, -1]), BadBody, "at least 0"),
        (response([5] * 513), BadValue, "max_model_len"),
        (response([5], output_mode="text"), BadBody, "output_mode"),
        (response([5], output_mode=None), BadBody, "output_mode"),
        (response([5], prompt_logprobs=[None] * 513), BadValue, "prompt_logprobs"),
        ({"request_id": "r"}, BadBody, "choices"),
        ({"request_id": "r", "choices": [{"token_ids": [5]}]}, BadBody, "index"),
        ({"request_id": "r", "choices": [{"index": 0, "token_ids": [5]}] * 16_385}, BadValue, "choices count"),
    ],
)
def test_refused_responses(body: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        chat(byte_profile(), None, generate_response=body)
    with pytest.raises(kind, match=message):
        completion(byte_profile(), body)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"token": "a"}] * 513, "logprobs.content"),
        ([{"token": "a", "top_logprobs": [{"token": "b"}] * 25}], "max_logprobs"),
    ],
)
def test_refused_logprobs(content: list[Any], message: str) -> None:
    body = response([65])
    body["choices"][0]["logprobs"] = {"content": content}
    with pytest.raises(BadValue, match=message):
        chat(byte_profile(), None, generate_response=body)
    part = chunk([65])
    part["choices"][0]["logprobs"] = {"content": content}
    with pytest.raises(BadValue, match=message):
        completion_chunks(byte_profile(), [part])


def test_without_a_bound_any_number_of_alternatives_passes() -> None:
    body = response([65])
    body["choices"][0]["logprobs"] = {"content": [{"token": "a", "top_logprobs": [{"token": "b"}] * 25}]}
    chat(replace(byte_profile(), max_logprobs=-1), None, generate_response=body)


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"prompt_tokens": [1]}, BadBody),
        ({"prompt_token_ids": [[5]]}, BadBody),
        ({"prompt_token_ids": [[5], [-5]]}, BadBody),
        ({"completion_request": {"prompt": "a", "suffix": "b"}}, BadValue),
        ({"completion_request": 5}, BadBody),
    ],
)
def test_refused_completions(members: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        completion(byte_profile(), response([65]), response([66]), **members)


def test_no_responses_and_too_many() -> None:
    with pytest.raises(BadValue, match="at least one"):
        completion(byte_profile())
    with pytest.raises(BadValue, match="responses count"):
        completion(byte_profile(), *[response([65])] * 16_385)


@pytest.mark.parametrize(
    ("part", "kind", "message"),
    [
        ({**chunk([65]), "choices": chunk([65])["choices"] * 2}, BadValue, "at most one choice"),
        (chunk([65], output_mode="text"), BadBody, "output_mode"),
        (chunk([65] * 513), BadValue, "max_model_len"),
        ({"request_id": "r"}, BadBody, "choices"),
    ],
)
def test_refused_chunks(part: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        chat_chunks(byte_profile(), [part])
    with pytest.raises(kind, match=message):
        completion_chunks(byte_profile(), [part])
