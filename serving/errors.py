"""The closed list of ways in which a whole request fails, and the status of each (HTTP contract, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class ErrorCode(StrEnum):
    """Codes of a request-level error body."""

    INVALID_REQUEST = "invalid_request"
    MODEL_NOT_FOUND = "model_not_found"
    REQUEST_TOO_LARGE = "request_too_large"
    UNSUPPORTED_SURFACE = "unsupported_surface"
    OVERLOADED = "overloaded"
    INTERNAL_ERROR = "internal_error"
    NOT_READY = "not_ready"


STATUS: Mapping[ErrorCode, int] = MappingProxyType(
    {
        ErrorCode.INVALID_REQUEST: 400,
        ErrorCode.MODEL_NOT_FOUND: 404,
        ErrorCode.REQUEST_TOO_LARGE: 413,
        ErrorCode.UNSUPPORTED_SURFACE: 422,
        ErrorCode.OVERLOADED: 429,
        ErrorCode.INTERNAL_ERROR: 500,
        ErrorCode.NOT_READY: 503,
    }
)


class RequestFailed(Exception):
    """A request that gets an error body instead of an answer.

    `status` defaults to the code's own; 415 and 405 carry `invalid_request` under another status.
    """

    def __init__(self, code: ErrorCode, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = STATUS[code] if status is None else status
