"""Error bodies of the token-in/token-out endpoints (token-in/token-out contract, section 1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from serving.errors import ErrorCode, RequestFailed
from serving.http.errors import failure_of, valid_text
from vela_jax.contract import InvalidRequest
from vela_jax.generation.refusals import BadBody, BadValue

BAD_BODY: Final = "Bad Request"
BAD_VALUE: Final = "BadRequestError"
INTERNAL: Final = "InternalServerError"
_TYPES: Final[Mapping[ErrorCode, str]] = MappingProxyType(
    {
        ErrorCode.INVALID_REQUEST: BAD_BODY,
        ErrorCode.MODEL_NOT_FOUND: "NotFoundError",
        ErrorCode.REQUEST_TOO_LARGE: BAD_BODY,
        ErrorCode.UNSUPPORTED_SURFACE: "NotImplementedError",
        ErrorCode.OVERLOADED: "TooManyRequestsError",
        ErrorCode.INTERNAL_ERROR: INTERNAL,
        ErrorCode.NOT_READY: "ServiceUnavailableError",
        ErrorCode.QUESTION_FAILED: BAD_VALUE,
    }
)
NOT_IMPLEMENTED: Final = 501


def openai_error(error: Exception) -> tuple[int, dict[str, Any]]:
    """Give status and body of the refusal that answers `error`; an unforeseen one is logged."""
    if isinstance(error, (BadBody, BadValue)):
        kind = BAD_BODY if isinstance(error, BadBody) else BAD_VALUE
        return 400, openai_body(400, kind, str(error), error.param)
    if isinstance(error, InvalidRequest):
        return 400, openai_body(400, BAD_VALUE, str(error))
    failure = failure_of(error)
    return failure_status(failure), _failure_body(failure)


def failure_status(failure: RequestFailed) -> int:
    """Give the status: a model that does not generate has one of its own, and a wrong media type is a bad body."""
    if failure.code is ErrorCode.UNSUPPORTED_SURFACE:
        return NOT_IMPLEMENTED
    is_media = failure.code is ErrorCode.INVALID_REQUEST
    return 400 if is_media else failure.status


def openai_body(code: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    """Give the body of a refusal."""
    shown = None if param is None else valid_text(param)
    return {"error": {"message": valid_text(message), "type": kind, "param": shown, "code": code}}


def _failure_body(failure: RequestFailed) -> dict[str, Any]:
    internal = failure.code is ErrorCode.INTERNAL_ERROR
    message = "Internal server error" if internal else failure.message
    param = "model" if failure.code is ErrorCode.MODEL_NOT_FOUND else None
    return openai_body(failure_status(failure), _TYPES[failure.code], message, param)
