"""Error bodies, and how an exception becomes a refusal (HTTP contract, section 4.1)."""

from __future__ import annotations

import logging
from typing import Any

from serving.errors import ErrorCode, RequestFailed

logger = logging.getLogger(__name__)


def invalid(message: str, *, status: int | None = None) -> RequestFailed:
    """Make the refusal `invalid_request`; `status` is given where it is not 400."""
    return RequestFailed(ErrorCode.INVALID_REQUEST, message, status=status)


def failure_of(error: Exception) -> RequestFailed:
    """Give the refusal that answers `error`; an unforeseen one is logged here, once, with its traceback."""
    if isinstance(error, RequestFailed):
        return error
    logger.error("a request failed unexpectedly", exc_info=error)
    return RequestFailed(ErrorCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}")


def error_body(failure: RequestFailed) -> dict[str, Any]:
    """Give the body of a refusal. Its text is valid Unicode whatever the message was made of."""
    error: dict[str, Any] = {"code": failure.code.value, "message": valid_text(failure.message)}
    if failure.reason is not None:
        error["reason"] = failure.reason
    if failure.limit is not None:
        error["limit"] = failure.limit
    return {"error": error}


def valid_text(text: str) -> str:
    """Give a text with whatever UTF-8 cannot say replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
