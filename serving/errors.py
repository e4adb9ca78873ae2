"""The closed list of ways in which a whole request fails, and the status of each (HTTP contract, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    QUESTION_FAILED = "question_failed"


STATUS: Mapping[ErrorCode, int] = MappingProxyType(
    {
        ErrorCode.INVALID_REQUEST: 400,
        ErrorCode.MODEL_NOT_FOUND: 404,
        ErrorCode.REQUEST_TOO_LARGE: 413,
        ErrorCode.UNSUPPORTED_SURFACE: 422,
        ErrorCode.OVERLOADED: 429,
        ErrorCode.INTERNAL_ERROR: 500,
        ErrorCode.NOT_READY: 503,
        ErrorCode.QUESTION_FAILED: 422,
    }
)
QUESTION_STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_question": 422,
        "max_length_exceeded": 400,
        "scan_budget_exceeded": 400,
        "invalid_input": 400,
        "invalid_model_output": 500,
        "unavailable": 503,
        "deadline_exceeded": 504,
    }
)
"""Status of a System One request by the item error of its first failed question (HTTP contract, section 4.3)."""


class RequestFailed(Exception):
    """A request that gets an error body instead of an answer.

    `status` defaults to the code's own; 415 and 405 carry `invalid_request` under another status. `reason` and `limit`
    are given where the contract names them.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        status: int | None = None,
        reason: str | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = STATUS[code] if status is None else status
        self.reason = reason
        self.limit = limit


@dataclass(frozen=True, slots=True)
class FailedQuestion:
    """A question without an answer; `state` names its entry in a batch."""

    state: str | None
    question: str
    error: str  # an item error
    message: str
    reason: str | None


class QuestionsFailed(RequestFailed):
    """A System One request with at least one failed question; the first one decides the status."""

    def __init__(self, failed: Sequence[FailedQuestion], message: str) -> None:
        self.first = failed[0]
        self.failed = tuple(failed)
        status = QUESTION_STATUS[self.first.error]
        super().__init__(ErrorCode.QUESTION_FAILED, message, status=status, reason=self.first.reason)
