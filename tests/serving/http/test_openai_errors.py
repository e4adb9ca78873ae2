from __future__ import annotations

import logging

import pytest

from serving.errors import ErrorCode, RequestFailed
from serving.http.openai_errors import openai_error
from vela_jax.contract import InvalidRequest
from vela_jax.generation.refusals import BadBody, BadValue


@pytest.mark.parametrize(
    ("error", "status", "kind", "param"),
    [
        (BadBody("m", "body.x"), 400, "Bad Request", "body.x"),
        (BadBody("m"), 400, "Bad Request", None),
        (BadValue("m", "x"), 400, "BadRequestError", "x"),
        (InvalidRequest("m"), 400, "BadRequestError", None),
        (RequestFailed(ErrorCode.INVALID_REQUEST, "m"), 400, "Bad Request", None),
        (RequestFailed(ErrorCode.INVALID_REQUEST, "m", status=415), 400, "Bad Request", None),
        (RequestFailed(ErrorCode.MODEL_NOT_FOUND, "m"), 404, "NotFoundError", "model"),
        (RequestFailed(ErrorCode.REQUEST_TOO_LARGE, "m"), 413, "Bad Request", None),
        (RequestFailed(ErrorCode.UNSUPPORTED_SURFACE, "m"), 501, "NotImplementedError", None),
        (RequestFailed(ErrorCode.OVERLOADED, "m"), 429, "TooManyRequestsError", None),
        (RequestFailed(ErrorCode.NOT_READY, "m"), 503, "ServiceUnavailableError", None),
    ],
)
def test_status_and_body(error: Exception, status: int, kind: str, param: str | None) -> None:
    assert openai_error(error) == (status, {"error": {"message": "m", "type": kind, "param": param, "code": status}})


def test_what_was_not_foreseen_is_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    status, body = openai_error(KeyError("secret"))
    assert (status, body["error"]["type"], body["error"]["message"]) == (
        500,
        "InternalServerError",
        "Internal server error",
    )
    assert len(caplog.records) == 1


def test_every_code_has_a_type() -> None:
    for code in ErrorCode:
        assert openai_error(RequestFailed(code, "m"))[1]["error"]["type"]


def test_messages_are_valid_text() -> None:
    body = openai_error(BadBody("half \ud800", "\ud800"))[1]
    assert (body["error"]["message"], body["error"]["param"]) == ("half ?", "?")
