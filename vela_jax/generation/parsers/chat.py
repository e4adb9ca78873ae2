"""The answer of a chat model read as reasoning, content and tool calls, at once or in parts (contract, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from vela_jax.generation.parsers import hermes, reasoning
from vela_jax.generation.parsers.calls import CallDelta, CallDeltas, ToolCall
from vela_jax.generation.parsers.forced import ArrayStream, NamedStream, read_array
from vela_jax.generation.profile import Profile
from vela_jax.generation.rendering.checks import named_tool
from vela_jax.generation.rendering.conversation import parser_kwargs
from vela_jax.generation.rendering.requests import ChatRequest


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A whole answer."""

    reasoning: str | None
    content: str | None
    calls: list[ToolCall] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ParsedDelta:
    """What a part adds to an answer; empty texts are None."""

    reasoning: str | None = None
    content: str | None = None
    calls: list[CallDelta] = field(default_factory=list)


class _ContentStream(Protocol):
    """Reads what follows the reasoning."""

    def push(self, text: str, deltas: CallDeltas) -> str:
        """Give the content that a part adds; calls go to `deltas`."""

    def flush(self) -> str:
        """Give the content that waited in vain."""


class _PlainStream:
    """All text is content."""

    def push(self, text: str, deltas: CallDeltas) -> str:  # noqa: ARG002
        """Give the part."""
        return text

    def flush(self) -> str:
        """Give what waited in vain: nothing."""
        return ""


def parse(text: str, request: ChatRequest, profile: Profile, prompt_ids: Sequence[int] | None) -> ParsedMessage:
    """Read a whole answer."""
    thoughts: str | None = None
    content: str | None = text or None
    if profile.reasoning_parser is not None:
        thoughts, content = reasoning.split(text, thinks=_thinks(text, request, profile, prompt_ids))
    content, calls = _read_content(content, request, profile)
    return ParsedMessage(thoughts if request.include_reasoning else None, content, calls)


def _thinks(text: str, request: ChatRequest, profile: Profile, prompt_ids: Sequence[int] | None) -> bool:
    """Whether a text without an end mark is reasoning: not if the prompt has ended it and the text begins none."""
    if parser_kwargs(request).get("enable_thinking") is False:
        return False
    over = reasoning.prompt_state(prompt_ids or (), profile.vocabulary) is True
    return reasoning.START in text or not over


def _read_content(content: str | None, request: ChatRequest, profile: Profile) -> tuple[str | None, list[ToolCall]]:
    name = named_tool(request.tool_choice)
    if profile.tool_parser is None or request.tool_choice == "none":
        return content, []
    if name is not None:
        return "", [] if content is None else [ToolCall(name, content)]
    if request.tool_choice == "required":
        calls = read_array(content or "")
        return (content or "", []) if calls is None else ("", calls)
    return (None, []) if content is None else hermes.read_calls(content)


class ChatStream:
    """Reads an answer that comes in parts, one delta a part.

    `prompt_ids` are all ids of the prompt: its last mark may be anywhere, and tells whether reasoning is over.
    """

    def __init__(self, request: ChatRequest, profile: Profile, prompt_ids: Sequence[int]) -> None:
        self._shows_reasoning = request.include_reasoning
        self._reasoning = self._reasoning_stream(request, profile, prompt_ids)
        self._content = _content_stream(request, profile)

    def push(self, text: str, *, finished: bool) -> ParsedDelta:
        """Give what a part adds; with the last part, also what waited for more."""
        deltas = CallDeltas()
        thoughts, rest = self._reasoning.push(text) if self._reasoning else ("", text)
        if finished and self._reasoning and not self._reasoning.is_over:
            thoughts += self._reasoning.flush()
        content = self._content.push(rest, deltas)
        if finished:
            content += self._content.flush()
        shown = thoughts if self._shows_reasoning else ""
        return ParsedDelta(shown or None, content or None, deltas.deltas)

    @staticmethod
    def _reasoning_stream(
        request: ChatRequest, profile: Profile, prompt_ids: Sequence[int]
    ) -> reasoning.ReasoningStream | None:
        if profile.reasoning_parser is None or parser_kwargs(request).get("enable_thinking") is False:
            return None
        over = reasoning.prompt_state(prompt_ids, profile.vocabulary) is True
        return None if over else reasoning.ReasoningStream()


def _content_stream(request: ChatRequest, profile: Profile) -> _ContentStream:
    name = named_tool(request.tool_choice)
    if profile.tool_parser is None or request.tool_choice == "none":
        return _PlainStream()
    if name is not None:
        return NamedStream(name)
    return ArrayStream() if request.tool_choice == "required" else hermes.HermesStream()
