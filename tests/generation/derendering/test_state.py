"""States that a client may send back, and those that it may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generation.packages import parsed_profile, plain_profile
from vela_jax.generation.derendering.derenderer import Derenderer, read_chat_chunk, read_completion_chunk
from vela_jax.generation.derendering.requests import StreamState
from vela_jax.generation.derendering.state import check_state, window_of
from vela_jax.generation.refusals import BadBody, BadValue, read_record


def read(**members: Any) -> StreamState:
    state = read_record(members, StreamState, "stream_state")
    check_state(state)
    return state


@pytest.mark.parametrize(
    "members",
    [
        {"prefix_offset": -1}, {"read_offset": -1}, {"logprob_text_offset": -1}, {"prev_tokens": ["a"] * 1025},
        {"prev_tokens": [5]}, {"prev_tokens": "a"}, {"logprob_context_token_ids": [1] * 5},
        {"output_token_ids": [5, 6], "output_chunk_lens": [1]}, {"output_token_ids": [5], "output_chunk_lens": [1, 0]},
        {"output_token_ids": [5], "output_chunk_lens": [2, -1]}, {"role_sent": "yes"}, {"last_tool_call_ids": [3]},
        {"read_offset": 2**63},
    ],
)  # fmt: skip
def test_refused_bodies(members: dict[str, Any]) -> None:
    with pytest.raises(BadBody, match="stream_state"):
        read(**members)


@pytest.mark.parametrize(
    "members",
    [
        {"prev_tokens": ["a"], "read_offset": 9},
        {"prev_tokens": ["a", "b", "c"], "prefix_offset": 2, "read_offset": 1},
        {"prev_tokens": ["a" * 1025]},
    ],
)
def test_invalid_windows(members: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match="invalid stream_state"):
        window_of(read(**members), 16)


def test_the_largest_window_is_taken() -> None:
    assert len(window_of(read(prev_tokens=["a"] * 1024), 16).pieces) == 1024


NUMBERS = st.integers(-3, 1030) | st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**64)])
STATES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "prev_tokens": st.lists(st.text(max_size=3) | st.sampled_from(["ð", "Ł", "▁", "<0xF0>", ""]), max_size=6),
        "prefix_offset": NUMBERS,
        "read_offset": NUMBERS,
        "role_sent": st.booleans(),
        "logprob_context_token_ids": st.lists(NUMBERS, max_size=5),
        "logprob_text_offset": NUMBERS,
        "output_token_ids": st.lists(NUMBERS, max_size=6),
        "output_chunk_lens": st.lists(st.integers(0, 4), max_size=4),
        "tools_streamed": st.booleans(),
        "last_tool_call_ids": st.lists(st.text(max_size=3), max_size=2),
        "unknown": st.none(),
    },
) | st.sampled_from([None, 3, "x", [], {}])


@settings(deadline=None, max_examples=200)
@given(
    state=STATES,
    ids=st.lists(st.integers(-2, 300) | st.sampled_from([2**31, 2**63]), max_size=5) | st.none(),
    finish=st.sampled_from([None, "stop", "length"]),
    parsed=st.booleans(),
)
def test_any_state_is_answered_or_refused(state: Any, ids: Any, finish: str | None, parsed: bool) -> None:
    profile = parsed_profile() if parsed else plain_profile()
    chunk = {"request_id": "r", "choices": [{"index": 0, "token_ids": ids, "finish_reason": finish}]}
    body = {"stream": True, "generate_chunk": chunk, "stream_state": state, "prompt_token_ids": [1, 2]}
    derenderer = Derenderer(profile, "m")
    try:
        answer = derenderer.completion_chunk(*read_completion_chunk(body))
        read(**answer["stream_state"])
        chat = {**body, "chat_request": {"messages": []}}
        answer = derenderer.chat_chunk(*read_chat_chunk(chat))
        read(**answer["stream_state"])
    except (BadBody, BadValue):
        pass
