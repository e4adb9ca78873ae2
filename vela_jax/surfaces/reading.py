"""From a decoded JSON body to a typed request, with refusals that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from vela_jax.contract import InvalidRequest, Surface
from vela_jax.surfaces.decisions import DecisionsBody
from vela_jax.surfaces.options import Options
from vela_jax.surfaces.requests import ClassifyRequest, EmbeddingsRequest, RerankRequest
from vela_jax.surfaces.shown import kind_of, shown


@dataclass(frozen=True, slots=True)
class _Form:
    """A request type with its member names, looked up once."""

    request: type[msgspec.Struct]
    members: tuple[str, ...]  # sorted
    required: tuple[str, ...]
    options: type[Options]
    option_names: tuple[str, ...]  # sorted

    @classmethod
    def of(cls, request: type[msgspec.Struct]) -> _Form:
        fields = {field.encode_name: field for field in msgspec.structs.fields(request)}
        options = fields["options"].type
        required = tuple(name for name, field in fields.items() if field.required)
        names = tuple(sorted(field.encode_name for field in msgspec.structs.fields(options)))
        return cls(request, tuple(sorted(fields)), required, options, names)


_FORMS: Mapping[Surface, _Form] = {
    Surface.CLASSIFY: _Form.of(ClassifyRequest),
    Surface.EMBEDDINGS: _Form.of(EmbeddingsRequest),
    Surface.RERANK: _Form.of(RerankRequest),
    Surface.DECISIONS: _Form.of(DecisionsBody),
}


def check_members(surface: Surface, body: Any) -> None:
    """Refuse a body that is no object or has a member that the surface does not know."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, got {kind_of(body)}")
    allowed = _FORMS[surface].members
    unknown = sorted(name for name in body if name not in allowed)
    if unknown:
        raise InvalidRequest(f"unknown members {shown(unknown)}; {surface} takes {list(allowed)}")


def read_request(surface: Surface, body: dict[str, Any]) -> Any:
    """Give the typed request of a checked body; for decisions their members, of which `read_entries` makes requests.

    Raises InvalidRequest for a missing member, a value of a wrong type, an unknown or bad option.
    """
    form = _FORMS[surface]
    options = _read_options(form, body.get("options"))
    for name in form.required:
        if name not in body:
            raise InvalidRequest(f"{name} is required")
    try:
        return msgspec.convert({**body, "options": options}, form.request)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_say(error)) from None


def _read_options(form: _Form, value: Any) -> Options:
    """Absent, null and any empty value mean no options."""
    value = value or {}
    if not isinstance(value, dict):
        raise InvalidRequest(f"options must be an object, got {kind_of(value)}")
    unknown = sorted(name for name in value if name not in form.option_names)
    if unknown:
        raise InvalidRequest(f"unknown options {shown(unknown)}; allowed are {list(form.option_names)}")
    try:
        options = msgspec.convert(value, form.options)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_say(error, "options")) from None
    options.check()
    return options


def _say(error: msgspec.ValidationError, prefix: str = "") -> str:
    """Turn the converter's text into one that begins with the member's path."""
    text, _, path = str(error).partition(" - at `$")
    member = prefix + path.removesuffix("`")
    return f"{member.removeprefix('.') or 'the body'}: {text[:1].lower()}{text[1:]}"
