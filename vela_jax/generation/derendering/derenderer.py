"""Derendering: generated ids to OpenAI-shaped answers, whole or in chunks (token-in/token-out contract, 9 to 12)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from vela_jax.generation.derendering.checks import check_chunk, check_whole
from vela_jax.generation.derendering.logprobs import chat_logprobs, completion_logprobs
from vela_jax.generation.derendering.replay import ending_ids, parsed_choice
from vela_jax.generation.derendering.requests import (
    Choice,
    DerenderChat,
    DerenderCompletion,
    DerenderStream,
    StreamChoice,
    StreamState,
    check_mode,
    check_parallel,
    check_prompt,
    check_response,
)
from vela_jax.generation.derendering.state import check_state, window_of
from vela_jax.generation.detokenizer import IncrementalDetokenizer, seed_window
from vela_jax.generation.parsers.calls import ToolCall
from vela_jax.generation.parsers.chat import parse
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadValue, read_record
from vela_jax.generation.rendering.renderer import read_chat, read_completion
from vela_jax.generation.rendering.requests import ChatRequest, CompletionRequest
from vela_jax.generation.token_texts import advance_context


class Derenderer:
    """Derenders answers of one model, which is served under `name`. All methods may be called from any thread."""

    def __init__(self, profile: Profile, name: str) -> None:
        self._profile = profile
        self._name = name

    def chat(self, request: DerenderChat, chat: ChatRequest | None) -> dict[str, Any]:
        """Give a chat completion. Raises BadValue."""
        response = request.generate_response
        check_whole([response], self._profile)
        if self._profile.is_parsed and chat is None:
            raise _needed("chat_request")
        prompt = _prompt(request.prompt_token_ids, response.prompt_token_ids)
        completion_tokens = sum(len(choice.token_ids or ()) for choice in response.choices)
        return {
            "id": response.request_id,
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self._model(request.model),
            "choices": [self._chat_choice(choice, chat, prompt) for choice in response.choices],
            "usage": _usage(request.prompt_tokens or 0, completion_tokens),
            "service_tier": None,
            "system_fingerprint": None,
            "prompt_logprobs": response.prompt_logprobs,
            "prompt_token_ids": None,
            "kv_transfer_params": response.kv_transfer_params,
        }

    def completions(self, request: DerenderCompletion, completion: CompletionRequest | None) -> dict[str, Any]:
        """Give a completion of all responses, in order. Raises BadValue."""
        responses = request.generate_responses
        if not responses:
            raise BadValue("generate_responses must hold at least one response", "generate_responses")
        check_whole(responses, self._profile)
        prompts: Sequence[list[int] | None] = request.prompt_token_ids or [None] * len(responses)
        choices: list[dict[str, Any]] = []
        for response, given in zip(responses, prompts, strict=True):
            prompt = _prompt(given, response.prompt_token_ids)
            for choice in response.choices:
                text = self._text(choice.token_ids or (), _skips(completion), prompt)
                logprobs = completion_logprobs(choice.logprobs, self._profile.vocabulary)
                choices.append(_completion_choice(len(choices), text, logprobs, choice.finish_reason))
                choices[-1] |= {"prompt_logprobs": response.prompt_logprobs, "prompt_token_ids": None}
        tokens = sum(len(choice.token_ids or ()) for response in responses for choice in response.choices)
        transfers = [response.kv_transfer_params for response in responses]
        return {
            "id": responses[0].request_id,
            "object": "text_completion",
            "created": int(time.time()),
            "model": self._model(request.model),
            "choices": choices,
            "usage": _usage(sum(request.prompt_tokens or ()), tokens),
            "service_tier": None,
            "system_fingerprint": None,
            "kv_transfer_params": transfers[0] if all(each == transfers[0] for each in transfers) else None,
        }

    def chat_chunk(self, request: DerenderStream, chat: ChatRequest | None) -> dict[str, Any]:
        """Give a chat chunk and the next state. Raises BadValue."""
        chunk = request.generate_chunk
        check_chunk(chunk.choices, request.stream_state, self._profile)
        if self._profile.is_parsed and chat is None:
            raise _needed("chat_request")
        if self._profile.is_parsed and request.prompt_token_ids is None:
            raise _needed("prompt_token_ids")
        skips = not self._profile.is_parsed and _skips(chat)
        state = self._state(request, skips)
        choices = []
        for choice in chunk.choices:
            if chat is not None and self._profile.is_parsed:
                prompt = request.prompt_token_ids or ()
                choices.append(parsed_choice(choice, state, chat, self._profile, prompt))
            else:
                choices.append(self._plain_chat_choice(choice, state, skips))
        return self._chunk("chat.completion.chunk", request, choices, state)

    def completion_chunk(self, request: DerenderStream, completion: CompletionRequest | None) -> dict[str, Any]:
        """Give a completion chunk and the next state. Raises BadValue."""
        check_chunk(request.generate_chunk.choices, request.stream_state, self._profile)
        skips = _skips(completion)
        state = self._state(request, skips)
        choices = []
        for choice in request.generate_chunk.choices:
            context, offset = state.logprob_context_token_ids, state.logprob_text_offset
            text = self._advance(choice, state, skips)
            logprobs = completion_logprobs(choice.logprobs, self._profile.vocabulary, context, offset)
            choices.append(_completion_choice(choice.index, text, logprobs, choice.finish_reason))
            state.logprob_text_offset += len(text)
        return self._chunk("text_completion", request, choices, state)

    def _chat_choice(self, choice: Choice, chat: ChatRequest | None, prompt: Sequence[int]) -> dict[str, Any]:
        ids = choice.token_ids or []
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None, "annotations": None}
        message |= {"audio": None, "function_call": None, "reasoning": None}
        if chat is not None and self._profile.is_parsed:
            if choice.finish_reason == "stop" and ids[-1] in ending_ids(chat, self._profile):
                ids = ids[:-1]
            parsed = parse(self._text(ids, False, prompt), chat, self._profile, prompt)
            message |= {"content": parsed.content, "reasoning": parsed.reasoning}
            if parsed.calls:
                message["tool_calls"] = [_whole_call(call) for call in parsed.calls]
        else:
            message["content"] = self._text(ids, _skips(chat), prompt)
        return {
            "index": choice.index,
            "message": message,
            "logprobs": chat_logprobs(choice.logprobs, self._profile.vocabulary),
            "finish_reason": choice.finish_reason,
            "stop_reason": None,
            "token_ids": None,
            "routed_experts": None,
        }

    def _plain_chat_choice(self, choice: StreamChoice, state: StreamState, skips: bool) -> dict[str, Any]:
        context = state.logprob_context_token_ids
        text = self._advance(choice, state, skips)
        role = None if state.role_sent else "assistant"
        state.role_sent = True
        return {
            "index": choice.index,
            "delta": {"role": role, "content": text or None, "reasoning": None},
            "logprobs": chat_logprobs(choice.logprobs, self._profile.vocabulary, context),
            "finish_reason": choice.finish_reason,
        }

    def _advance(self, choice: StreamChoice, state: StreamState, skips: bool) -> str:
        """Give the text that a chunk adds; `state` becomes the one behind it, as far as ids go."""
        window = window_of(state, self._profile.vocabulary.longest_piece)
        detokenizer = IncrementalDetokenizer(self._profile.vocabulary, skip_special_tokens=skips, window=window)
        text = detokenizer.push(choice.token_ids or ())
        after = detokenizer.window
        state.prev_tokens = list(after.pieces)
        state.prefix_offset, state.read_offset = after.prefix, after.read
        state.logprob_context_token_ids = advance_context(state.logprob_context_token_ids, choice.token_ids or ())
        return text

    def _state(self, request: DerenderStream, skips: bool) -> StreamState:
        """Give the state to go on from: the client's, or the first one, seeded by the prompt."""
        if request.stream_state is not None:
            window_of(request.stream_state, self._profile.vocabulary.longest_piece)
            return request.stream_state
        prompt = _prompt(request.prompt_token_ids, request.generate_chunk.prompt_token_ids)
        window = seed_window(self._profile.vocabulary, prompt, skip_special=skips)
        return StreamState(prev_tokens=list(window.pieces), prefix_offset=window.prefix, read_offset=window.read)

    def _text(self, token_ids: Sequence[int], skips: bool, prompt: Sequence[int]) -> str:
        detokenizer = IncrementalDetokenizer(self._profile.vocabulary, skip_special_tokens=skips, seed_ids=prompt)
        return detokenizer.push(token_ids)

    def _model(self, asked: str | None) -> str:
        return asked or self._name

    def _chunk(
        self, kind: str, request: DerenderStream, choices: list[dict[str, Any]], state: StreamState
    ) -> dict[str, Any]:
        counted = request.generate_chunk.usage
        usage = None
        if counted is not None:
            prompt = counted.prompt_tokens if request.prompt_tokens is None else request.prompt_tokens
            usage = _usage(prompt, counted.completion_tokens or 0)
        chunk = {
            "id": request.generate_chunk.request_id,
            "object": kind,
            "created": int(time.time()),
            "model": self._model(request.model),
            "choices": choices,
            "usage": usage,
        }
        return {"chunk": chunk, "stream_state": msgspec.to_builtins(state)}


def read_whole_chat(body: dict[str, Any]) -> tuple[DerenderChat, ChatRequest | None]:
    """Give the typed request of a decoded body, and the chat request in it. Raises BadBody or BadValue."""
    request = read_record(body, DerenderChat)
    check_response(request.generate_response, "generate_response")
    check_prompt(request)
    return request, _chat_of(request)


def read_whole_completion(body: dict[str, Any]) -> tuple[DerenderCompletion, CompletionRequest | None]:
    """Give the typed request of a decoded body, and the completion request in it. Raises BadBody or BadValue."""
    request = read_record(body, DerenderCompletion)
    for index, response in enumerate(request.generate_responses):
        check_response(response, f"generate_responses[{index}]")
    check_parallel(request)
    return request, _completion_of(request)


def read_chat_chunk(body: dict[str, Any]) -> tuple[DerenderStream, ChatRequest | None]:
    """Give the typed streaming request of a decoded body, and the chat request in it. Raises BadBody or BadValue."""
    request = _read_stream(body)
    return request, _chat_of(request)


def read_completion_chunk(body: dict[str, Any]) -> tuple[DerenderStream, CompletionRequest | None]:
    """Give the typed streaming request, and the completion request in it. Raises BadBody or BadValue."""
    request = _read_stream(body)
    return request, _completion_of(request)


def _read_stream(body: dict[str, Any]) -> DerenderStream:
    request = read_record(body, DerenderStream)
    check_mode(request.generate_chunk.output_mode, "generate_chunk")
    check_prompt(request)
    if request.stream_state is not None:
        check_state(request.stream_state)
    return request


def _chat_of(request: DerenderChat | DerenderStream) -> ChatRequest | None:
    return None if request.chat_request is None else read_chat(request.chat_request, "chat_request")


def _completion_of(request: DerenderCompletion | DerenderStream) -> CompletionRequest | None:
    body = request.completion_request
    return None if body is None else read_completion(body, "completion_request")


def _prompt(given: list[int] | None, own: list[int] | None) -> list[int]:
    """The request's prompt ids go before those of the response; an empty list is given, and seeds nothing."""
    return (own or []) if given is None else given


def _skips(request: ChatRequest | CompletionRequest | None) -> bool:
    return request is None or request.skip_special_tokens


def _needed(member: str) -> BadValue:
    return BadValue(f"{member} is required: the model's answers are parsed, and that needs it", member)


def _whole_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": uuid.uuid4().hex, "type": "function", "function": function}


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": None,
    }


def _completion_choice(index: int, text: str, logprobs: Any, finish_reason: str | None) -> dict[str, Any]:
    return {
        "index": index,
        "text": text,
        "logprobs": logprobs,
        "finish_reason": finish_reason,
        "stop_reason": None,
        "token_ids": None,
    }
