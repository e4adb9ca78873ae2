from __future__ import annotations

import pytest
from blacksheep import Response

from serving.errors import ErrorCode, RequestFailed
from serving.http.responses import error_response, json_response, raw_json_response


def content(response: Response) -> tuple[bytes, bytes]:
    assert response.content is not None
    assert response.content.body is not None
    return response.content.type, response.content.body


def test_json_without_a_charset() -> None:
    response = json_response({"é": [1, None]}, 201, [(b"a", b"b")])
    assert content(response) == (b"application/json", '{"é":[1,null]}'.encode())
    assert response.status == 201
    assert response.get_first_header(b"a") == b"b"


def test_encoded_bodies_pass_unchanged() -> None:
    assert content(raw_json_response(b"{ }")) == (b"application/json", b"{ }")


def test_refusals_have_their_status() -> None:
    response = error_response(RequestFailed(ErrorCode.MODEL_NOT_FOUND, "none"))
    assert response.status == 404
    assert content(response)[1] == b'{"error":{"code":"model_not_found","message":"none"}}'


def test_a_response_never_says_nan() -> None:
    with pytest.raises(RequestFailed):
        json_response([float("nan")])
