"""Error bodies of the System One endpoints, by the schema of the process (System One semantics, section 12)."""

from __future__ import annotations

from typing import Any, Final

from serving.errors import ErrorCode, FailedQuestion, QuestionsFailed, RequestFailed
from serving.http.errors import error_body, valid_text
from serving.schema import Schema

OVERLOADED: Final = 529
RETRY_SECONDS: Final = 1
DETAILS: Final = 64
"""Failed questions that a body lists one by one; its message says how many more there are."""


def status_of(failure: RequestFailed, schema: Schema) -> int:
    """Give the status: overload has one of its own in the newer schema."""
    overloaded = failure.code is ErrorCode.OVERLOADED and schema is Schema.V5
    return OVERLOADED if overloaded else failure.status


def headers_of(status: int) -> list[tuple[bytes, bytes]]:
    """Give the headers that go with a status."""
    return [(b"retry-after", str(RETRY_SECONDS).encode())] if status == OVERLOADED else []


def systemone_body(failure: RequestFailed, schema: Schema) -> dict[str, Any]:
    """Give the body of a refusal: `detail`, flat members where they apply, and in the older schema `error` before."""
    flat: dict[str, Any] = {"detail": _detail(failure), "code": failure.code.value}
    if isinstance(failure, QuestionsFailed):
        flat["question"] = valid_text(failure.first.question)
        if failure.first.state is not None:
            flat["state"] = valid_text(failure.first.state)
    if failure.reason is not None:
        flat["reason"] = failure.reason
    if failure.limit is not None:
        flat["limit"] = failure.limit
    return flat if schema is Schema.V5 else {"error": _error(failure), **flat}


def _error(failure: RequestFailed) -> dict[str, Any]:
    if not isinstance(failure, QuestionsFailed):
        error: dict[str, Any] = error_body(failure)["error"]
        return error
    first = failure.first
    error = {
        "code": failure.code.value,
        "question_error": first.error,
        "reason": first.reason,
        "question": valid_text(first.question),
    }
    if first.state is not None:
        error["state"] = valid_text(first.state)
    return {**error, "message": valid_text(failure.message)}


def _detail(failure: RequestFailed) -> str | list[dict[str, Any]]:
    """Give a text, and with 422 the list that clients walk."""
    if failure.status != 422:
        return valid_text(failure.message)
    if isinstance(failure, QuestionsFailed):
        return [_entry(failed) for failed in failure.failed[:DETAILS]]
    return [{"loc": ["body", "model"], "msg": valid_text(failure.message), "type": failure.code.value}]


def _entry(failed: FailedQuestion) -> dict[str, Any]:
    of_state = [] if failed.state is None else ["states", valid_text(failed.state)]
    return {
        "loc": ["body", *of_state, "questions", valid_text(failed.question)],
        "msg": valid_text(failed.message),
        "type": failed.reason or failed.error,
    }
