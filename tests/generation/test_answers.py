"""Bodies and chunks of generate (token-in/token-out contract, sections 5, 7 and 14.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.generation.networks import Sink
from tests.generation.packages import ids_of, parsed_profile
from vela_jax.generation.answers import Answers
from vela_jax.generation.logprobs import Candidate
from vela_jax.generation.requests import read_generate
from vela_jax.generation.sequence import Choice, Delta, Generated
from vela_jax.generation.stopping import Finish, StopRules


def made(reports_cached: bool = False, **members: Any) -> Answers:
    request, _ = read_generate({"token_ids": [1, 2, 3], "sampling_params": {}, **members})
    vocabulary = parsed_profile().vocabulary
    return Answers(request, "served", vocabulary, request_id="42", reports_cached=reports_cached)


def generated(output: list[int], index: int = 0) -> Generated:
    rules = StopRules(frozenset(), 99, 0, 99)
    return Generated((1, 2, 3), Choice(vocabulary=320), rules, Sink(), index=index, output=output)


def chunks(answers: Answers, deltas: list[Delta]) -> list[dict[str, Any]]:
    sequence = generated([token for delta in deltas for token in delta.token_ids])
    found: list[dict[str, Any]] = []
    tokens = 0
    for delta in deltas:
        tokens += len(delta.token_ids)
        chunk = answers.chunk(sequence, delta, first=not found, tokens=tokens)
        if chunk is not None:
            found.append(chunk)
    return found


def test_a_whole_answer_has_every_member() -> None:
    deltas = [Delta((10,)), Delta((11,), finish=Finish.STOP)]
    body = made().whole([generated([10, 11])], [deltas])
    assert body.pop("created") > 0
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "token_ids": [10, 11],
        "routed_experts": None,
        "sampling_mask": None,
        "logprobs": None,
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "prompt_tokens_details": None}
    assert body == {
        "request_id": "generate-tokens-42",
        "model": "served",
        "output_mode": "tokens",
        "choices": [choice],
        "usage": usage,
        **dict.fromkeys(("prompt_logprobs", "prompt_token_ids", "mm_placeholders", "metrics")),
        **dict.fromkeys(("kv_transfer_params", "ec_transfer_params")),
    }


def test_usage_counts_the_prompt_once_and_all_outputs() -> None:
    ends = [[Delta((9, 9), finish=Finish.LENGTH)], [Delta((9,), finish=Finish.STOP)]]
    body = made().whole([generated([9, 9]), generated([9], 1)], ends)
    assert body["usage"]["completion_tokens"] == 3
    assert [choice["index"] for choice in body["choices"]] == [0, 1]


@pytest.mark.parametrize("cached", [0, 2])
def test_cached_tokens_are_reported_where_that_is_on(cached: int) -> None:
    sequence = generated([9])
    sequence.cached = cached
    body = made(reports_cached=True).whole([sequence], [[Delta((9,), finish=Finish.STOP)]])
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": cached}


def test_each_delta_with_something_in_it_is_a_chunk() -> None:
    deltas = [Delta((10,)), Delta((), text="lost"), Delta((20, 30)), Delta((40,), finish=Finish.STOP)]
    found = chunks(made(stream=True), deltas)
    assert [chunk["choices"][0]["token_ids"] for chunk in found] == [[10], [20, 30], [40]]
    assert [chunk["choices"][0]["finish_reason"] for chunk in found] == [None, None, "stop"]
    assert all(chunk["usage"] is None for chunk in found)
    assert all("prompt_token_ids" not in chunk and "model" not in chunk for chunk in found)


def test_a_finish_reason_without_tokens_is_a_chunk() -> None:
    assert len(chunks(made(stream=True), [Delta((1,)), Delta((), finish=Finish.LENGTH)])) == 2


def test_text_without_tokens_is_a_chunk_in_text_mode() -> None:
    assert len(chunks(made(stream=True, output_mode="text"), [Delta((1,)), Delta((), text="a")])) == 2


def test_the_prompt_ids_come_with_the_first_chunk() -> None:
    found = chunks(made(stream=True, return_token_ids=True), [Delta((1,)), Delta((2,))])
    assert found[0]["prompt_token_ids"] == [1, 2, 3]
    assert "prompt_token_ids" not in found[1]


def test_usage_of_a_stream() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    answers = made(stream=True, stream_options=options)
    usages = [chunk["usage"]["total_tokens"] for chunk in chunks(answers, [Delta((7,)), Delta((8,))])]
    assert usages == [4, 5]
    last = answers.usage_chunk([generated([7, 8])])
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    alone = made(stream=True, stream_options={"continuous_usage_stats": True})
    assert chunks(alone, [Delta((7,))])[0]["usage"] is None


FOUND = (Candidate(262, -0.1, 1), Candidate(257, -1.2, 2), Candidate(28, -2.3, 3))


@pytest.mark.parametrize(("count", "shown"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_log_probabilities_name_ids_in_tokens_mode(count: int, shown: int) -> None:
    answers = made(sampling_params={"logprobs": count})
    body = answers.whole([generated([262])], [[Delta((262,), (FOUND,), finish=Finish.STOP)]])
    (entry,) = body["choices"][0]["logprobs"]["content"]
    assert (entry["token"], entry["logprob"], entry["bytes"]) == ("token_id:262", -0.1, None)
    assert [each["token"] for each in entry["top_logprobs"]] == ["token_id:262", "token_id:257", "token_id:28"][:shown]


def test_log_probabilities_tell_text_in_text_mode_whole_characters_at_their_last_token() -> None:
    ids = ids_of(parsed_profile(), "a✅")
    deltas = [Delta((each,), ((Candidate(each, -0.5, 1),),), finish=None) for each in ids]
    answers = made(output_mode="text", sampling_params={"logprobs": 1})
    content = answers.whole([generated(ids)], [deltas])["choices"][0]["logprobs"]["content"]
    assert [entry["token"] for entry in content] == ["a", "", "", "✅"]
    assert content[-1]["bytes"] == list("✅".encode())
    streamed = chunks(made(output_mode="text", stream=True, sampling_params={"logprobs": 1}), deltas)
    assert [chunk["choices"][0]["logprobs"]["content"][0]["token"] for chunk in streamed] == ["a", "", "", "✅"]


def test_prompt_log_probabilities_begin_with_nothing() -> None:
    request: dict[str, Any] = {"sampling_params": {"prompt_logprobs": 1}}
    sequence = generated([5])
    sequence.choice = Choice(vocabulary=320, prompt_logprobs=1)
    sequence.prompt_values = [[Candidate(2, -3.0, 7), Candidate(65, -0.2, 1)], [Candidate(3, -0.1, 1)]]
    found = made(**request).whole([sequence], [[Delta((5,), finish=Finish.STOP)]])["prompt_logprobs"]
    assert found[0] is None
    assert list(found[1]) == ["2", "65"]
    assert found[1]["65"] == {"logprob": -0.2, "rank": 1, "decoded_token": "A"}
    assert len(found) == 3
