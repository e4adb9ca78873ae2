"""Requests to derender: members, types, defaults, and the rules among them (token-in/token-out contract, section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vela_jax.generation.refusals import BadBody
from vela_jax.surfaces.shown import kind_of, shown_name

MISSING_LOGPROB: Final = -9999.0


class Logprob(msgspec.Struct, kw_only=True):
    """A token's log-probability; `token` may stand for an id, which newer peers write as `token_id`."""

    token: str | UnsetType = UNSET
    token_id: int | UnsetType = UNSET
    logprob: float = MISSING_LOGPROB
    bytes: list[int] | None = None


class PositionLogprob(Logprob, kw_only=True):
    """The sampled token of a position, and its alternatives."""

    top_logprobs: list[Logprob] = msgspec.field(default_factory=list)


class Logprobs(msgspec.Struct, kw_only=True):
    """Log-probabilities of a choice, one entry a token."""

    content: list[PositionLogprob] | None = None


class StreamChoice(msgspec.Struct, kw_only=True):
    """What a chunk adds to one sequence."""

    index: int
    finish_reason: str | None = None
    token_ids: list[int] | None = None
    logprobs: Logprobs | None = None


class Choice(StreamChoice, kw_only=True):
    """One whole sequence."""

    finish_reason: str | None = "stop"


class Usage(msgspec.Struct, kw_only=True):
    """Token counts."""

    prompt_tokens: int = 0
    completion_tokens: int | None = 0


class GenerateResponse(msgspec.Struct, kw_only=True):
    """A whole generate response in tokens mode."""

    request_id: str
    choices: list[Choice]
    output_mode: str = "tokens"
    prompt_logprobs: list[Any] | None = None
    prompt_token_ids: list[int] | None = None
    kv_transfer_params: dict[str, Any] | None = None


class GenerateChunk(msgspec.Struct, kw_only=True):
    """One chunk of a generate stream in tokens mode."""

    request_id: str
    choices: list[StreamChoice]
    output_mode: str = "tokens"
    usage: Usage | None = None
    prompt_token_ids: list[int] | None = None


class StreamState(msgspec.Struct, kw_only=True):
    """What the client carries from chunk to chunk, one for each sequence."""

    prev_tokens: list[str] = msgspec.field(default_factory=list)
    prefix_offset: int = 0
    read_offset: int = 0
    role_sent: bool = False
    logprob_context_token_ids: list[int] = msgspec.field(default_factory=list)
    logprob_text_offset: int = 0
    output_token_ids: list[int] = msgspec.field(default_factory=list)
    output_chunk_lens: list[int] = msgspec.field(default_factory=list)
    tools_streamed: bool = False
    last_tool_call_ids: list[str] = msgspec.field(default_factory=list)


class DerenderChat(msgspec.Struct, kw_only=True):
    """A whole chat answer to derender."""

    model: str | None = None
    generate_response: GenerateResponse
    prompt_tokens: int | None = None
    prompt_token_ids: list[int] | None = None
    chat_request: dict[str, Any] | None = None


class DerenderCompletion(msgspec.Struct, kw_only=True):
    """Whole completions to derender, one response a prompt."""

    model: str | None = None
    generate_responses: list[GenerateResponse]
    prompt_tokens: list[int] | None = None
    prompt_token_ids: list[list[int] | None] | None = None
    completion_request: dict[str, Any] | None = None


class DerenderStream(msgspec.Struct, kw_only=True):
    """A chunk to derender, of chat or of a completion."""

    model: str | None = None
    generate_chunk: GenerateChunk
    prompt_tokens: int | None = None
    prompt_token_ids: list[int] | None = None
    stream_state: StreamState | None = None
    chat_request: dict[str, Any] | None = None
    completion_request: dict[str, Any] | None = None


def is_stream(body: Any) -> bool:
    """Tell by `stream` which of the two shapes a body has. Raises BadBody for a body that is none, and a bad value."""
    if not isinstance(body, dict):
        raise BadBody(f"the body must be an object, got {kind_of(body)}", "body")
    value = body.get("stream", False)
    if not isinstance(value, bool):
        raise BadBody(f"stream must be true or false, got {kind_of(value)}", "body.stream")
    return value


def check_response(response: GenerateResponse, where: str) -> None:
    """Refuse what is not in tokens mode, and negative ids. Raises BadBody."""
    check_mode(response.output_mode, where)
    for index, choice in enumerate(response.choices):
        refuse_negative(choice.token_ids or (), f"{where}.choices[{index}].token_ids")


def check_mode(mode: str, where: str) -> None:
    """Refuse text mode: its text is decoded already, and cut where it had to be. Raises BadBody."""
    if mode != "tokens":
        raise BadBody(
            f"{where}.output_mode must be 'tokens', got {shown_name(mode)!r}: only token ids can be derendered", where
        )


def check_prompt(request: DerenderChat | DerenderStream) -> None:
    """Refuse a negative id of the prompt. Raises BadBody."""
    refuse_negative(request.prompt_token_ids or (), "prompt_token_ids")


def check_parallel(request: DerenderCompletion) -> None:
    """Refuse lists that do not run parallel to the responses. Raises BadBody."""
    count = len(request.generate_responses)
    for name, items in (("prompt_tokens", request.prompt_tokens), ("prompt_token_ids", request.prompt_token_ids)):
        if items is not None and len(items) != count:
            raise BadBody(
                f"{name} must have one item for each of the {count} generate_responses, got {len(items)}", name
            )
    for index, ids in enumerate(request.prompt_token_ids or ()):
        refuse_negative(ids or (), f"prompt_token_ids[{index}]")


def refuse_negative(ids: Sequence[int] | Iterable[int], where: str) -> None:
    """Raise BadBody for a negative id."""
    negative = next((each for each in ids if each < 0), None)
    if negative is not None:
        raise BadBody(f"{where} must hold ids of at least 0, got {negative}", where)
