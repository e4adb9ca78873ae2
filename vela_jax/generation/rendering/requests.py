"""The OpenAI-shaped requests that are rendered: members, types, defaults (token-in/token-out contract, section 8)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from vela_jax.generation.sampling_params import RepetitionDetection

Prompt = str | list[str | int | list[int]]
"""A text, texts, the ids of one prompt, or lists of ids."""


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream carries beside tokens."""

    include_usage: bool = False
    continuous_usage_stats: bool = False


class SharedRequest(msgspec.Struct, kw_only=True):
    """Members of chat and completion requests alike; unknown ones are allowed and of no effect."""

    model: str | None = None
    n: int | None = 1
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    min_tokens: int = 0
    bad_words: list[str] | None = None
    allowed_token_ids: list[int] | None = None
    logit_bias: dict[str, float] | None = None
    include_stop_str_in_output: bool = False
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    structured_outputs: dict[str, Any] | None = None
    repetition_detection: RepetitionDetection | None = None
    thinking_token_budget: int | float | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    prompt_logprobs: int | bool | None = None
    echo: bool = False
    response_format: dict[str, Any] | None = None
    truncate_prompt_tokens: int | None = None
    truncation_side: Literal["left", "right"] | None = None
    return_token_offsets: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    cache_salt: str | None = None
    priority: int = 0
    kv_transfer_params: dict[str, Any] | None = None
    use_beam_search: bool = False


class ChatRequest(SharedRequest, kw_only=True):
    """A chat completion request."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = "none"
    parallel_tool_calls: bool | None = True
    include_reasoning: bool = True
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    documents: list[dict[str, Any]] | None = None
    reasoning_effort: str | None = None
    add_special_tokens: bool = False

    @property
    def wanted_tokens(self) -> int | None:
        """Output tokens asked for."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens


class CompletionRequest(SharedRequest, kw_only=True):
    """A completion request."""

    prompt: Prompt | None = None
    prompt_embeds: Any = None
    suffix: str | None = None
    max_tokens: int | None = 16
    logprobs: int | bool | None = None
    add_special_tokens: bool = True

    @property
    def wanted_tokens(self) -> int | None:
        """Output tokens asked for."""
        if self.echo and self.max_tokens == 0:
            return 1
        return 16 if self.max_tokens is None else self.max_tokens


class GenerateRequest(msgspec.Struct, kw_only=True):
    """What rendering gives; every member is written."""

    request_id: str
    token_ids: list[int]
    token_offsets: list[tuple[int, int]] | None
    features: None = None
    content_parts: None = None
    sampling_params: dict[str, Any]
    model: str | None
    return_token_ids: None = None
    output_mode: str = "tokens"
    stream: bool
    stream_options: StreamOptions | None
    cache_salt: str | None
    priority: int
    kv_transfer_params: dict[str, Any] | None
    ec_transfer_params: None = None
