"""From a decoded JSON body to a typed request, with refusals that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vela_jax.contract import InvalidRequest, Surface
from vela_jax.surfaces.options import Options
from vela_jax.surfaces.requests import ClassifyRequest, DecisionsRequest, EmbeddingsRequest, RerankRequest

REQUESTS: Mapping[Surface, type[msgspec.Struct]] = {
    Surface.CLASSIFY: ClassifyRequest,
    Surface.EMBEDDINGS: EmbeddingsRequest,
    Surface.RERANK: RerankRequest,
    Surface.DECISIONS: DecisionsRequest,
}


def check_members(surface: Surface, body: Any) -> None:
    """Refuse a body that is no object or has a member that the surface does not know."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, got {_kind(body)}")
    allowed = {field.encode_name for field in msgspec.structs.fields(REQUESTS[surface])}
    unknown = sorted(set(body) - allowed)
    if unknown:
        raise InvalidRequest(f"unknown members {unknown}; {surface} takes {sorted(allowed)}")


def read_request(surface: Surface, body: dict[str, Any]) -> Any:
    """Give the typed request of a checked body.

    Raises InvalidRequest for a missing member, a value of a wrong type, an unknown or bad option.
    """
    request_type = REQUESTS[surface]
    fields = {field.encode_name: field for field in msgspec.structs.fields(request_type)}
    options = _read_options(fields["options"].type, body.get("options"))
    for name, field in fields.items():
        if name not in body and field.required:
            raise InvalidRequest(f"{name} is required")
    try:
        return msgspec.convert({**body, "options": options}, request_type)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_say(error)) from None


def _read_options(options_type: type[Options], value: Any) -> Options:
    """Absent, null and any empty value mean no options."""
    value = value or {}
    if not isinstance(value, dict):
        raise InvalidRequest(f"options must be an object, got {_kind(value)}")
    allowed = sorted(field.encode_name for field in msgspec.structs.fields(options_type))
    unknown = sorted(set(value) - set(allowed))
    if unknown:
        raise InvalidRequest(f"unknown options {unknown}; allowed are {allowed}")
    try:
        options: Options = msgspec.convert(value, options_type)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_say(error, "options")) from None
    options.check()
    return options


def _say(error: msgspec.ValidationError, prefix: str = "") -> str:
    """Turn the converter's text into one that begins with the member's path."""
    text, _, path = str(error).partition(" - at `$")
    member = prefix + path.removesuffix("`")
    return f"{member.removeprefix('.') or 'the body'}: {text[:1].lower()}{text[1:]}"


def _kind(value: Any) -> str:
    """Name a JSON type for a message."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
