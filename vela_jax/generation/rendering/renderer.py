"""Rendering: OpenAI-shaped requests to generate requests, without a device (token-in/token-out contract, section 8)."""

from __future__ import annotations

import uuid
from typing import Any, Final

from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadBody, BadValue, read_record
from vela_jax.generation.rendering.checks import (
    check_chat,
    check_completion,
    check_parsers,
    check_shared,
    settle_choice,
)
from vela_jax.generation.rendering.conversation import template_messages, template_variables
from vela_jax.generation.rendering.prompts import Tokens, accept_ids, lengths_of, tokenize
from vela_jax.generation.rendering.requests import ChatRequest, CompletionRequest, GenerateRequest, Prompt
from vela_jax.generation.rendering.sampling import sampling_params
from vela_jax.generation.rendering.template import ChatTemplate

MAX_PROMPTS: Final = 16_384


def read_chat(body: dict[str, Any], where: str = "body") -> ChatRequest:
    """Give the typed chat request of a decoded body, its rules checked. Raises BadBody or BadValue."""
    request = read_record(body, ChatRequest, where)
    settle_choice(body, request)
    check_shared(request)
    check_chat(body, request)
    return request


def read_completion(body: dict[str, Any], where: str = "body") -> CompletionRequest:
    """Give the typed completion request of a decoded body, its rules checked. Raises BadBody or BadValue."""
    request = read_record(body, CompletionRequest, where)
    check_shared(request)
    check_completion(request)
    return request


class Renderer:
    """Renders requests for one model. All methods may be called from any thread."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._template = ChatTemplate(profile.templates)

    def chat(self, body: dict[str, Any], request: ChatRequest) -> GenerateRequest:
        """Render a conversation; `body` is what `request` was read from. Raises BadBody or BadValue."""
        check_parsers(request, self._profile)
        self._bound(request)
        source = self._template.source(has_tools=bool(request.tools))
        variables = template_variables(body, request, self._profile)
        messages = template_messages(request, in_parts=self._template.reads_parts(source))
        lengths = lengths_of(
            self._profile, request.wanted_tokens, request.truncate_prompt_tokens, request.truncation_side
        )
        text = self._template.render(source, messages, request.tools, variables)
        tokens = tokenize(
            self._profile,
            text,
            lengths,
            add_special_tokens=request.add_special_tokens,
            with_offsets=bool(request.return_token_offsets),
        )
        return self._rendered(request, tokens, "chatcmpl-")

    def completions(self, request: CompletionRequest) -> list[GenerateRequest]:
        """Render each prompt of a completion request. Raises BadBody or BadValue."""
        lengths = lengths_of(
            self._profile, request.wanted_tokens, request.truncate_prompt_tokens, request.truncation_side
        )
        rendered = []
        for prompt in prompts_of(request.prompt):
            if isinstance(prompt, str):
                tokens = tokenize(
                    self._profile,
                    prompt,
                    lengths,
                    add_special_tokens=request.add_special_tokens,
                    with_offsets=bool(request.return_token_offsets),
                )
            else:
                tokens = accept_ids(self._profile, prompt, lengths)
            rendered.append(self._rendered(request, tokens, "cmpl-"))
        return rendered

    def _bound(self, request: ChatRequest) -> None:
        """Each message and each tool is a token at the least, so more of them than tokens cannot fit."""
        if not request.messages:
            raise BadValue("messages must hold at least one message", "messages")
        for name, items in (("messages", request.messages), ("tools", request.tools or ())):
            if len(items) > self._profile.max_model_len:
                limit = self._profile.max_model_len
                raise BadValue(f"{name} has {len(items)} items, more than max_model_len {limit}", name)

    def _rendered(self, request: ChatRequest | CompletionRequest, tokens: Tokens, prefix: str) -> GenerateRequest:
        return GenerateRequest(
            request_id=f"{prefix}{uuid.uuid4().hex}",
            token_ids=tokens.ids,
            token_offsets=tokens.offsets,
            sampling_params=sampling_params(request, self._profile, len(tokens.ids)),
            model=request.model,
            stream=bool(request.stream),
            stream_options=request.stream_options if request.stream else None,
            cache_salt=request.cache_salt,
            priority=request.priority,
            kv_transfer_params=request.kv_transfer_params,
        )


def prompts_of(prompt: Prompt | None) -> list[str | list[int]]:
    """Give the prompts of a `prompt` member in any of its forms. Raises BadBody for a mixture, none, or too many."""
    if isinstance(prompt, str):
        return [prompt]
    items: list[Any] = list(prompt or ())
    kinds = {type(each) for each in items}
    if len(kinds) > 1:
        raise BadBody(
            "prompt must be a text, a list of texts, token ids, or lists of token ids, not a mixture", "prompt"
        )
    if kinds == {int}:
        return [items]
    if not 1 <= len(items) <= MAX_PROMPTS:
        raise BadBody(f"prompt must hold 1 to {MAX_PROMPTS} prompts, got {len(items)}", "prompt")
    return items
