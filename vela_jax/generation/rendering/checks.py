"""Rules among the members of a rendered request (token-in/token-out contract, sections 2, 8.1)."""

from __future__ import annotations

from typing import Any, Final

from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadBody, BadValue
from vela_jax.generation.rendering.requests import ChatRequest, CompletionRequest, SharedRequest
from vela_jax.generation.sampling_params import check_constraints
from vela_jax.surfaces.shown import kind_of, shown_name

MAX_SALT: Final = 128
_SALT_FORBIDDEN: Final = frozenset("@/\\\0")
_CHOICES: Final = ("none", "auto", "required")
_FORMATS: Final = ("text", "json_object", "json_schema", "structural_tag")


def check_salt(salt: str | None) -> None:
    """Refuse a cache salt that is empty, long, or holds what separates names elsewhere. Raises BadBody."""
    if salt is None:
        return
    if not 1 <= len(salt) <= MAX_SALT:
        raise BadBody(f"cache_salt must have 1 to {MAX_SALT} characters, got {len(salt)}", "cache_salt")
    if _SALT_FORBIDDEN & set(salt):
        raise BadBody("cache_salt must be without '@', '/', '\\' and NUL", "cache_salt")


def check_shared(request: SharedRequest) -> None:
    """Rules of both kinds of request. Raises BadBody or BadValue."""
    if request.stream_options is not None and not request.stream:
        raise BadBody("stream_options needs stream: true", "stream_options")
    if request.prompt_logprobs is not None:
        count = int(request.prompt_logprobs)
        if request.stream and (count > 0 or count == -1):
            raise BadBody("prompt_logprobs is not available in a stream", "prompt_logprobs")
    if request.truncate_prompt_tokens is not None and request.truncate_prompt_tokens < -1:
        found = request.truncate_prompt_tokens
        raise BadBody(f"truncate_prompt_tokens must be at least -1, got {found}", "truncate_prompt_tokens")
    if not -(2**63) <= request.priority < 2**63:
        raise BadBody("priority must be a 64-bit integer", "priority")
    check_salt(request.cache_salt)
    check_constraints(request.structured_outputs)
    _check_format(request)
    if request.use_beam_search:
        raise BadValue("use_beam_search is not supported: leave it out", "use_beam_search")


def check_chat(body: dict[str, Any], request: ChatRequest) -> None:
    """Rules of a chat request; `body` tells which members were given. Raises BadBody or BadValue."""
    _check_logprobs(request)
    _check_tools(request)
    if body.get("add_generation_prompt") and request.continue_final_message:
        raise BadBody("continue_final_message and add_generation_prompt cannot both be true", "continue_final_message")


def check_completion(request: CompletionRequest) -> None:
    """Rules of a completion request. Raises BadBody or BadValue."""
    if request.prompt_embeds is not None:
        raise BadValue("prompt_embeds is not supported: send a prompt of text or token ids", "prompt_embeds")
    if request.prompt is None:
        raise BadBody("prompt is required: a text, a list of texts, token ids or lists of them", "prompt")
    if request.suffix is not None:
        raise BadValue("suffix is not supported: leave it out", "suffix")
    if request.logprobs is not None and int(request.logprobs) < -1:
        raise BadBody(f"logprobs must be at least -1, got {request.logprobs}", "logprobs")


def check_parsers(request: ChatRequest, profile: Profile) -> None:
    """Refuse a tool choice that needs a parser this model lacks. Raises BadValue."""
    if request.tool_choice in (None, "none") or profile.tool_parser is not None:
        return
    choice = "a named tool" if isinstance(request.tool_choice, dict) else repr(request.tool_choice)
    raise BadValue(
        f"tool_choice {choice} needs a tool parser, and the model has none: set tool_choice to 'none', "
        "or have the model served with the option tool_call_parser",
        "tool_choice",
    )


def named_tool(choice: str | dict[str, Any] | None) -> str | None:
    """Give the name of the tool that a tool choice demands, None where it names none."""
    if not isinstance(choice, dict):
        return None
    name: str = choice["function"]["name"]
    return name


def settle_choice(body: dict[str, Any], request: ChatRequest) -> None:
    """Tools without a choice leave the choice to the model."""
    if "tool_choice" not in body and request.tools:
        request.tool_choice = "auto"


def _check_logprobs(request: ChatRequest) -> None:
    top = request.top_logprobs
    if top is None:
        return
    if top < -1:
        raise BadBody(f"top_logprobs must be at least -1, got {top}", "top_logprobs")
    if top != 0 and not request.logprobs:
        raise BadBody("top_logprobs needs logprobs: true", "top_logprobs")


def _check_tools(request: ChatRequest) -> None:
    if request.tools is not None:
        if not request.tools:
            raise BadBody("tools must hold at least one tool, or be left out", "tools")
        for index, tool in enumerate(request.tools):
            _tool_name(tool, f"tools[{index}]")
    choice = request.tool_choice
    if choice in (None, "none"):
        return
    if not request.tools:
        raise BadBody("tool_choice needs tools", "tool_choice")
    if isinstance(choice, str):
        if choice not in _CHOICES:
            raise BadBody(
                f"tool_choice must be one of {', '.join(_CHOICES)} or name a function, got {shown_name(choice)!r}",
                "tool_choice",
            )
        return
    name = _tool_name(choice or {}, "tool_choice")
    if all(name != tool["function"]["name"] for tool in request.tools):
        raise BadBody(f"tool_choice: {shown_name(name)!r} is none of the tools", "tool_choice")


def _tool_name(tool: dict[str, Any], where: str) -> str:
    """Give the name in a tool or a choice of one."""
    if tool.get("type", "function") != "function":
        raise BadBody(f"{where}.type must be 'function'", where)
    function = tool.get("function")
    if not isinstance(function, dict):
        raise BadBody(f"{where}.function must be an object, got {kind_of(function)}", where)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise BadBody(f"{where}.function.name must be a text of at least one character", where)
    return name


def _check_format(request: SharedRequest) -> None:
    described = request.response_format
    if described is None:
        return
    kind = described.get("type")
    if kind not in _FORMATS:
        raise BadBody(f"response_format.type must be one of {', '.join(_FORMATS)}", "response_format")
    if kind == "json_schema" and not isinstance(described.get("json_schema"), dict):
        raise BadBody("response_format: type json_schema needs an object json_schema", "response_format")
    if kind != "text" and request.structured_outputs is not None:
        raise BadBody("response_format and structured_outputs are two constraints: give one", "structured_outputs")
