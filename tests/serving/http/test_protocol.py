from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

import pytest

from serving.http.protocol import MAX_HEAD_BYTES
from tests.serving.http.loopback import Answer, Loopback, request_bytes, serving

OFFERS = ["h2c", "websocket", "TLS/1.0", "nonsense"]


@pytest.fixture(scope="module")
def web() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


def offering(body: bytes, offer: str, connection: str = "Upgrade, HTTP2-Settings") -> bytes:
    """A request that offers to go on in another protocol."""
    return request_bytes(body, connection=connection, upgrade=offer, http2_settings="AAMAAABkAAQBAAAAAAIAAAAA")


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("apart", [False, True])
def test_a_request_with_an_offer_is_read_whole(web: Loopback, offer: str, apart: bool) -> None:
    head, body = offering(b'{"a":[1]}', offer).split(b"\r\n\r\n")
    with web.connection() as connection:
        for _ in range(3):
            if apart:
                connection.send(head[:30])
                connection.send(head[30:] + b"\r\n\r\n" + body[:2])
                connection.send(body[2:])
            else:
                connection.send(head + b"\r\n\r\n" + body)
            answer = connection.read()
            assert (answer.status, answer.json()["body"]) == (200, {"a": [1]})
            assert "upgrade" not in answer.headers


def test_offers_between_pipelined_requests(web: Loopback) -> None:
    with web.connection() as connection:
        connection.send(offering(b"[1]", "h2c") + request_bytes(b"[2]") + offering(b"[3]", "h2c"))
        assert [connection.read().json()["body"] for _ in range(3)] == [[1], [2], [3]]


def test_the_rest_of_the_connection_header_still_counts(web: Loopback) -> None:
    with web.connection() as connection:
        connection.send(offering(b"[1]", "h2c", "close, Upgrade"))
        assert connection.read().headers["connection"] == "close"
        assert connection.is_closed()


def test_an_offer_with_a_chunked_body(web: Loopback) -> None:
    head = offering(b"", "h2c").replace(b"content-length: 0", b"transfer-encoding: chunked")
    with web.connection() as connection:
        connection.send(head + b"3\r\n[1]\r\n0\r\n\r\n")
        assert connection.read().json()["body"] == [1]


def check_refused(answer: Answer) -> None:
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["code"] == "invalid_request"
    assert answer.headers["x-request-id"] == answer.headers["x-typesafe-request-id"]
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"POST /v1/classify HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        b"POST /v1/classify HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT host:443 HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_closed(web: Loopback, sent: bytes) -> None:
    with web.connection() as connection:
        connection.send(sent)
        check_refused(connection.read())
        assert connection.is_closed()
    assert web.post().status_code == 200


def test_a_thousand_offers_at_once(web: Loopback) -> None:
    one = request_bytes(b"[1]", connection="upgrade", upgrade="x")
    with web.connection() as connection:
        connection.send(one * 1000)
        assert {connection.read().status for _ in range(1000)} == {200}


HEAD = b"POST /v1/classify HTTP/1.1\r\nhost: x\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (HEAD + b"x: " + b"a" * MAX_HEAD_BYTES + b"\r\n\r\n", "at most 65536 bytes"),
        (HEAD + b"x: " + b"a" * 500_000, "at most 65536 bytes"),
        (HEAD + b"x: y\r\n" * 100_000, "at most 65536 bytes"),
        (b"GET /" + b"a" * 500_000, "at most 65536 bytes"),
        (HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "only be chunked"),
        (HEAD + b"transfer-encoding: gzip\r\n\r\n0\r\n\r\n", "HTTP/1.1|only be chunked"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nx: y\r\n\r\n", "trailers"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nx: " + b"y" * 500_000, "at most"),
    ],
)
def test_what_would_take_memory_without_end_is_refused(web: Loopback, sent: bytes, says: str) -> None:
    with web.connection() as connection:
        with suppress(ConnectionError):  # the server need not read it all
            connection.send(sent)
        answer = connection.read()
        check_refused(answer)
        assert re.search(says, answer.json()["error"]["message"])
    assert web.post().status_code == 200


def test_large_heads_and_small_chunks_are_read(web: Loopback) -> None:
    with web.connection() as connection:
        connection.send(HEAD + b"x: " + b"a" * 60_000 + b"\r\ncontent-length: 2\r\n\r\n{}")
        assert connection.read().json()["body"] == {}
        connection.send(CHUNKED + b"1\r\n \r\n" * 1990 + b"2\r\n{}\r\n0\r\n\r\n" + request_bytes(b"[1]") * 3)
        assert [connection.read().json()["body"] for _ in range(4)] == [{}, [1], [1], [1]]
