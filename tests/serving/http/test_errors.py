from __future__ import annotations

import logging

import pytest

from serving.errors import STATUS, ErrorCode, RequestFailed
from serving.http.errors import error_body, failure_of, invalid


def test_a_refusal_stays_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    refusal = RequestFailed(ErrorCode.OVERLOADED, "full")
    assert failure_of(refusal) is refusal
    assert not caplog.records


def test_anything_else_is_an_internal_error_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    try:
        raise KeyError("missing")
    except KeyError as error:
        failure = failure_of(error)
    assert (failure.status, failure.code, failure.message) == (500, ErrorCode.INTERNAL_ERROR, "KeyError: 'missing'")
    assert len(caplog.records) == 1
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("code", ErrorCode)
def test_a_body_has_code_and_message_and_nothing_else(code: ErrorCode) -> None:
    failure = RequestFailed(code, "why")
    assert failure.status == STATUS[code]
    assert error_body(failure) == {"error": {"code": code.value, "message": "why"}}


def test_invalid_requests_may_have_another_status() -> None:
    assert [invalid("x").status, invalid("x", status=415).status] == [400, 415]
    assert invalid("x", status=415).code == ErrorCode.INVALID_REQUEST
