"""From a request and the model's defaults to sampling parameters, written in full (token-in/token-out, 8.2 to 8.4)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from vela_jax.generation.profile import Profile, SamplingDefaults
from vela_jax.generation.refusals import BadValue
from vela_jax.generation.rendering.requests import ChatRequest, CompletionRequest
from vela_jax.generation.sampling_params import DELTA, FINAL_ONLY, SamplingParams, bias_of

Request = ChatRequest | CompletionRequest
N = TypeVar("N", int, float)


def sampling_params(request: Request, profile: Profile, prompt_length: int) -> dict[str, Any]:
    """Give the sampling parameters of a prompt, every member written. Raises BadBody or BadValue.

    Also `max_tokens` 16, the protocol's default: generation takes an absent one for no bound at all.
    """
    defaults = profile.defaults
    params = SamplingParams(
        n=1 if request.n is None else request.n,
        presence_penalty=_first(request.presence_penalty, None, 0.0),
        frequency_penalty=_first(request.frequency_penalty, None, 0.0),
        repetition_penalty=_first(request.repetition_penalty, defaults.repetition_penalty, 1.0),
        temperature=_first(request.temperature, defaults.temperature, 1.0),
        top_p=_first(request.top_p, defaults.top_p, 1.0),
        top_k=_first(request.top_k, defaults.top_k, 0),
        min_p=_first(request.min_p, defaults.min_p, 0.0),
        seed=request.seed,
        stop=request.stop,
        stop_token_ids=request.stop_token_ids,
        bad_words=request.bad_words,
        ignore_eos=request.ignore_eos,
        max_tokens=_max_tokens(request, defaults, profile.max_model_len - prompt_length),
        min_tokens=request.min_tokens,
        logprobs=_logprobs(request),
        prompt_logprobs=_prompt_logprobs(request),
        skip_special_tokens=request.skip_special_tokens and not _reads_tool_calls(request, profile),
        spaces_between_special_tokens=request.spaces_between_special_tokens,
        include_stop_str_in_output=request.include_stop_str_in_output,
        output_kind=DELTA if request.stream else FINAL_ONLY,
        structured_outputs=_constraint(request),
        logit_bias=bias_of(request.logit_bias),
        allowed_token_ids=request.allowed_token_ids,
        extra_args=_extra(request),
        thinking_token_budget=request.thinking_token_budget,
        repetition_detection=request.repetition_detection,
    )
    params.normalize()
    written: dict[str, Any] = msgspec.to_builtins(params, str_keys=True)
    return written


def _first(asked: N | None, default: N | None, general: N) -> N:
    if asked is not None:
        return asked
    return general if default is None else default


def _max_tokens(request: Request, defaults: SamplingDefaults, room: int) -> int:
    if room < 1:
        raise BadValue("the prompt fills max_model_len: there is no room for an output token", "max_tokens")
    wanted = request.wanted_tokens
    wanted = defaults.max_new_tokens if wanted is None else wanted
    return room if wanted is None else min(room, wanted)


def _logprobs(request: Request) -> int | bool | None:
    if isinstance(request, CompletionRequest):
        return request.logprobs
    return request.top_logprobs or 0 if request.logprobs else None


def _prompt_logprobs(request: Request) -> int | bool | None:
    if request.prompt_logprobs is not None or not request.echo:
        return request.prompt_logprobs
    return request.logprobs if isinstance(request, CompletionRequest) else request.top_logprobs


def _reads_tool_calls(request: Request, profile: Profile) -> bool:
    """Whether a tool parser will look for marks that may be special tokens."""
    if not isinstance(request, ChatRequest) or profile.tool_parser is None:
        return False
    return bool(request.tools) and request.tool_choice != "none"


def _constraint(request: Request) -> dict[str, Any] | None:
    described = request.response_format or {}
    kind = described.get("type")
    if kind == "json_object":
        return {"json_object": True}
    if kind == "json_schema":
        return {"json": described["json_schema"].get("schema") or {}}
    if kind == "structural_tag":
        return {"structural_tag": msgspec.json.encode(described).decode()}
    return request.structured_outputs


def _extra(request: Request) -> dict[str, Any] | None:
    transfer = request.kv_transfer_params
    return {"kv_transfer_params": transfer} if transfer else None
