"""Why a token-in/token-out request is refused (token-in/token-out contract, section 1.1)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from vela_jax.contract import InvalidRequest
from vela_jax.surfaces.shown import kind_of

T = TypeVar("T")


class BadBody(InvalidRequest):
    """The body fails its schema or a rule among its members; `param` names the member."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class BadValue(InvalidRequest):
    """The request is well formed and cannot be served; `param` names the member at fault, if it is one."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


def read_record(value: Any, record: type[T], where: str = "body") -> T:
    """Give the typed record of a decoded JSON value; members that it does not know are ignored. Raises BadBody."""
    if not isinstance(value, dict):
        raise BadBody(f"{where} must be an object, got {kind_of(value)}", where)
    try:
        return msgspec.convert(value, record, str_keys=True)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        place = where + path.removesuffix("`")
        raise BadBody(f"{place}: {text[:1].lower()}{text[1:]}", place) from None
