"""Short ways to derender, whole and in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vela_jax.generation.derendering.derenderer import (
    Derenderer,
    read_chat_chunk,
    read_completion_chunk,
    read_whole_chat,
    read_whole_completion,
)
from vela_jax.generation.profile import Profile

USER = [{"role": "user", "content": "x"}]
WEATHER = {"type": "function", "function": {"name": "weather"}}


def response(ids: Sequence[int] | None, **members: Any) -> dict[str, Any]:
    return {"request_id": "r", "choices": [{"index": 0, "token_ids": ids, "finish_reason": "stop"}], **members}


def chunk(ids: Sequence[int], finish: str | None = None, index: int = 0, **members: Any) -> dict[str, Any]:
    return {"request_id": "r", "choices": [{"index": index, "token_ids": ids, "finish_reason": finish}], **members}


def chat(profile: Profile, ids: Sequence[int] | None, **members: Any) -> dict[str, Any]:
    body = {"generate_response": response(ids), **members}
    return Derenderer(profile, "served").chat(*read_whole_chat(body))


def completion(profile: Profile, *responses: dict[str, Any], **members: Any) -> dict[str, Any]:
    body = {"generate_responses": list(responses), **members}
    return Derenderer(profile, "served").completions(*read_whole_completion(body))


def chat_chunks(profile: Profile, chunks: Sequence[dict[str, Any]], **members: Any) -> list[dict[str, Any]]:
    """Answers to chunks, the state carried along."""
    state, answers = None, []
    for each in chunks:
        body = {"stream": True, "generate_chunk": each, "stream_state": state, **members}
        answers.append(Derenderer(profile, "served").chat_chunk(*read_chat_chunk(body)))
        state = answers[-1]["stream_state"]
    return answers


def completion_chunks(profile: Profile, chunks: Sequence[dict[str, Any]], **members: Any) -> list[dict[str, Any]]:
    """Answers to chunks, the state carried along."""
    state, answers = None, []
    for each in chunks:
        body = {"stream": True, "generate_chunk": each, "stream_state": state, **members}
        answers.append(Derenderer(profile, "served").completion_chunk(*read_completion_chunk(body)))
        state = answers[-1]["stream_state"]
    return answers


def cut(ids: Sequence[int], size: int, finish: str | None = None) -> list[dict[str, Any]]:
    """Chunks of a size, the last one with the finish reason."""
    starts = range(0, len(ids), size)
    return [chunk(ids[start : start + size], finish if start == starts[-1] else None) for start in starts]


def text_of(answers: Sequence[dict[str, Any]]) -> str:
    """The joined text of a completion's chunks."""
    return "".join(choice["text"] for answer in answers for choice in answer["chunk"]["choices"])


def message_of(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The joined deltas of a chat's chunks; a call is named once, with its id."""
    joined: dict[str, Any] = {"content": None, "reasoning": None, "calls": [], "ids": [], "roles": [], "finish": None}
    for choice in (choice for answer in answers for choice in answer["chunk"]["choices"]):
        delta = choice["delta"]
        joined["roles"].append(delta["role"])
        joined["finish"] = choice["finish_reason"] or joined["finish"]
        for name in ("content", "reasoning"):
            assert delta[name] != ""
            if delta[name] is not None:
                joined[name] = (joined[name] or "") + delta[name]
        for call in delta.get("tool_calls", ()):
            _join_call(joined, call)
    return joined


def _join_call(joined: dict[str, Any], call: dict[str, Any]) -> None:
    function = call["function"]
    if "id" in call:
        assert call["index"] == len(joined["calls"])
        joined["ids"].append(call["id"])
        joined["calls"].append([function["name"], ""])
    joined["calls"][call["index"]][1] += function["arguments"]
