"""Messages and template variables as a chat template sees them (token-in/token-out contract, section 8.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadBody, BadValue
from vela_jax.generation.rendering.requests import ChatRequest
from vela_jax.surfaces.shown import kind_of, shown_name

# Which member of a content part holds its text.
_TEXT_PARTS: Final = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
_KEPT: Final = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning")


def template_messages(request: ChatRequest, *, in_parts: bool) -> list[dict[str, Any]]:
    """Give the messages for a template that reads content `in_parts`, or as one text. Raises BadBody or BadValue."""
    return [_message(message, f"messages[{index}]", in_parts) for index, message in enumerate(request.messages)]


def parser_kwargs(request: ChatRequest) -> dict[str, Any]:
    """Give the variables of the template that a parser heeds too: `enable_thinking` among them."""
    given = dict(request.chat_template_kwargs or {})
    dedicated: dict[str, Any] = {"documents": request.documents, "reasoning_effort": request.reasoning_effort}
    merged = given | {name: value for name, value in dedicated.items() if value is not None}
    merged["add_generation_prompt"] = request.add_generation_prompt
    merged["continue_final_message"] = request.continue_final_message
    if request.reasoning_effort is not None and "enable_thinking" not in given:
        merged["enable_thinking"] = request.reasoning_effort != "none"
    return merged


def template_variables(body: Mapping[str, Any], request: ChatRequest, profile: Profile) -> dict[str, Any]:
    """Give all variables but messages; `body` tells which members were given. Raises BadValue for a template."""
    if request.chat_template is not None or "chat_template" in (request.chat_template_kwargs or {}):
        raise BadValue("chat_template is not taken from requests: the model's own is used", "chat_template")
    variables = parser_kwargs(request)
    if variables["continue_final_message"] and "add_generation_prompt" not in body:
        variables["add_generation_prompt"] = False
    return {**profile.template_variables, **variables}


def _message(message: dict[str, Any], where: str, in_parts: bool) -> dict[str, Any]:
    role = message.get("role")
    if not isinstance(role, str):
        raise BadBody(f"{where}.role must be a text, got {kind_of(role)}", where)
    if message.get("reasoning") is None and message.get("reasoning_content") is not None:
        message = {**message, "reasoning": message["reasoning_content"]}
    shaped = {name: message[name] for name in _KEPT if message.get(name) is not None}
    shaped["content"] = _content(message.get("content"), f"{where}.content", in_parts)
    if not isinstance(shaped.get("reasoning", ""), str):
        raise BadBody(f"{where}.reasoning must be a text, got {kind_of(shaped['reasoning'])}", where)
    if "tool_calls" in shaped:
        shaped["tool_calls"] = _tool_calls(shaped["tool_calls"], f"{where}.tool_calls")
    return shaped


def _content(content: Any, where: str, in_parts: bool) -> str | list[dict[str, Any]]:
    if content is None:
        content = ""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if in_parts else content
    if not isinstance(content, list):
        raise BadBody(f"{where} must be a text or a list of parts, got {kind_of(content)}", where)
    texts = [_part_text(part, f"{where}[{index}]") for index, part in enumerate(content)]
    return [{"type": "text", "text": text} for text in texts] if in_parts else "\n".join(texts)


def _part_text(part: Any, where: str) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise BadBody(f"{where} must be an object or a text, got {kind_of(part)}", where)
    kind = part.get("type", "text")
    if not isinstance(kind, str) or kind not in _TEXT_PARTS:
        known = ", ".join(_TEXT_PARTS)
        found = shown_name(kind) if isinstance(kind, str) else kind_of(kind)
        raise BadValue(f"{where}: this model reads text alone; type must be one of {known}, got {found}", where)
    text = part.get(_TEXT_PARTS[kind])
    if not isinstance(text, str):
        raise BadBody(f"{where}.{_TEXT_PARTS[kind]} must be a text, got {kind_of(text)}", where)
    return text


def _tool_calls(calls: Any, where: str) -> list[dict[str, Any]]:
    """Calls with their arguments as objects, which is what templates write out."""
    if not isinstance(calls, list):
        raise BadBody(f"{where} must be a list, got {kind_of(calls)}", where)
    shaped = []
    for index, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadBody(f"{where}[{index}] must be an object with function.name", where)
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            arguments = _parsed(arguments, f"{where}[{index}].function.arguments")
        shaped.append({**call, "function": {**function, "arguments": {} if arguments is None else arguments}})
    return shaped


def _parsed(arguments: str, where: str) -> Any:
    if not arguments.strip():
        return {}
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        raise BadValue(f"{where} is not JSON: {shown_name(arguments)!r}", where) from None
