"""Chat deltas of a parsed stream: the chunks before are read anew from the state (contract, section 12)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from vela_jax.generation.derendering.requests import StreamChoice, StreamState
from vela_jax.generation.detokenizer import IncrementalDetokenizer
from vela_jax.generation.parsers.calls import CallDelta
from vela_jax.generation.parsers.chat import ChatStream, ParsedDelta
from vela_jax.generation.profile import Profile
from vela_jax.generation.rendering.checks import named_tool
from vela_jax.generation.rendering.requests import ChatRequest

CALL_PREFIX: Final = "chatcmpl-tool-"


def ending_ids(request: ChatRequest, profile: Profile) -> frozenset[int]:
    """Give the ids that end a sequence without being part of its text."""
    if request.include_stop_str_in_output:
        return frozenset()
    return frozenset((*profile.eos_ids, *(request.stop_token_ids or ())))


class Replay:
    """Reads a sequence from its first chunk on, the same way every time.

    An id that may have ended the sequence waits for what comes next: behind it the sequence has gone on, or has not.
    """

    def __init__(self, request: ChatRequest, profile: Profile, prompt_ids: Sequence[int]) -> None:
        self._endings = ending_ids(request, profile)
        self._detokenizer = IncrementalDetokenizer(profile.vocabulary, skip_special_tokens=False, seed_ids=prompt_ids)
        self._stream = ChatStream(request, profile, prompt_ids)
        self._waiting: list[int] = []

    def read_again(self, state: StreamState) -> None:
        """Read the chunks that a state holds; what they gave was sent."""
        starts = accumulate(state.output_chunk_lens, initial=0)
        for start, length in zip(starts, state.output_chunk_lens, strict=False):
            self.push(state.output_token_ids[start : start + length], None)

    def push(self, token_ids: Sequence[int], finish_reason: str | None) -> ParsedDelta:
        """Read one chunk."""
        ids = [*self._waiting, *token_ids]
        self._waiting = []
        if ids and ids[-1] in self._endings and finish_reason in (None, "stop"):
            ids, self._waiting = ids[:-1], ids[-1:]
        return self._stream.push(self._detokenizer.push(ids), finished=finish_reason is not None)


def parsed_choice(
    choice: StreamChoice, state: StreamState, request: ChatRequest, profile: Profile, prompt_ids: Sequence[int]
) -> dict[str, Any]:
    """Give the choice of a chat chunk; `state` becomes the one behind it."""
    replay = Replay(request, profile, prompt_ids)
    replay.read_again(state)
    token_ids = choice.token_ids or []
    parsed = ParsedDelta()
    if token_ids or choice.finish_reason is not None:
        parsed = replay.push(token_ids, choice.finish_reason)
    if token_ids:
        state.output_token_ids = [*state.output_token_ids, *token_ids]
        state.output_chunk_lens = [*state.output_chunk_lens, len(token_ids)]
    calls = [_call(call, state) for call in parsed.calls]
    state.tools_streamed = state.tools_streamed or bool(calls)
    reason = choice.finish_reason
    if reason is not None and state.tools_streamed and named_tool(request.tool_choice) is None:
        reason = "tool_calls"
    if request.parallel_tool_calls is False:
        calls = [call for call in calls if call["index"] == 0]
    delta: dict[str, Any] = {
        "role": None if state.role_sent else "assistant",
        "content": parsed.content,
        "reasoning": parsed.reasoning,
    }
    state.role_sent = True
    if calls:
        delta["tool_calls"] = calls
    return {"index": choice.index, "delta": delta, "logprobs": None, "finish_reason": reason}


def _call(call: CallDelta, state: StreamState) -> dict[str, Any]:
    """Give a call's delta; a call keeps the id under which it was first sent."""
    sent: dict[str, Any] = {"index": call.index, "function": {"arguments": call.arguments}}
    if call.name is None:
        return sent
    known = state.last_tool_call_ids
    if call.index >= len(known):
        known = [*known, f"{CALL_PREFIX}{uuid.uuid4().hex}"]
        state.last_tool_call_ids = known
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": known[call.index], "type": "function", "index": call.index, "function": function}
