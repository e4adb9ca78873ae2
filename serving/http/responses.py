"""Responses in the forms that the contract knows."""

from __future__ import annotations

from typing import Any

from blacksheep import Content, Response

from serving.errors import RequestFailed
from serving.http.errors import error_body
from serving.http.json import encode

Headers = list[tuple[bytes, bytes]]


def json_response(body: Any, status: int = 200, headers: Headers | None = None) -> Response:
    """Give a JSON response; the media type has no charset."""
    return raw_json_response(encode(body), status, headers)


def raw_json_response(encoded: bytes, status: int = 200, headers: Headers | None = None) -> Response:
    """Give a JSON response of an encoded body."""
    return Response(status, headers, Content(b"application/json", encoded))


def error_response(failure: RequestFailed, headers: Headers | None = None) -> Response:
    """Give the response of a refusal."""
    return json_response(error_body(failure), failure.status, headers)
