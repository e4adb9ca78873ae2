from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from typing import Any

import pytest
import zstandard

from serving.errors import RequestFailed
from serving.http.body import BodyHeaders, body_headers, read_body
from serving.http.exchange import ClientLeft, Exchange, Message

LIMIT = 100


def exchange(*chunks: bytes, end: bool = True) -> tuple[Exchange, list[Message]]:
    """An exchange that brings these chunks, and the messages nobody has taken yet."""
    last = len(chunks) - 1
    messages: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": index < last or not end}
        for index, chunk in enumerate(chunks)
    ]
    messages.append({"type": "http.disconnect"})

    async def receive() -> Message:
        return messages.pop(0)

    return Exchange(receive), messages


def read(
    chunks: Sequence[bytes],
    headers: BodyHeaders | None = None,
    limit: int = LIMIT,
    forms: bool = True,
    end: bool = True,
) -> Any:
    source = exchange(*chunks, end=end)[0]
    body, parts = asyncio.run(read_body(source, headers or BodyHeaders(), limit, forms))
    assert not parts
    return body


def status_of(chunks: Sequence[bytes], headers: BodyHeaders | None = None, forms: bool = True) -> int:
    with pytest.raises(RequestFailed) as caught:
        read(chunks, headers, forms=forms)
    return caught.value.status


def test_headers_that_say_how_to_read() -> None:
    found = body_headers(
        [
            (b"host", b"x"),
            (b"content-length", b"7"),
            (b"content-encoding", b"gzip"),
            (b"content-type", b"text/plain"),
            (b"content-encoding", b"br"),
        ]
    )
    assert found == BodyHeaders(b"7", b"text/plain", [b"gzip", b"br"])


@pytest.mark.parametrize(
    "chunks", [[b'{"a":1}'], [b'{"a"', b":1}"], [b"", b'{"a":1}', b""], [bytes([byte]) for byte in b'{"a":1}']]
)
def test_chunks_make_one_body(chunks: list[bytes]) -> None:
    assert read(chunks) == {"a": 1}


def test_the_last_chunk_marks_the_body_as_read() -> None:
    source, rest = exchange(b"{", b"}")
    asyncio.run(read_body(source, BodyHeaders(), LIMIT, False))
    assert source.body_read
    assert len(rest) == 1


@pytest.mark.parametrize("pieces", [1, 2, LIMIT])
def test_the_limit_holds_to_the_byte(pieces: int) -> None:
    body = b'"' + b"x" * (LIMIT - 2) + b'"'
    step = LIMIT // pieces
    chunks = [body[start : start + step] for start in range(0, LIMIT, step)]
    assert read(chunks) == "x" * (LIMIT - 2)
    assert status_of([*chunks, b" "]) == 413
    assert status_of([b" " + chunks[0], *chunks[1:]]) == 413


def test_a_body_declared_too_long_is_not_read() -> None:
    source, rest = exchange(b"{}")
    with pytest.raises(RequestFailed, match="larger than 100 bytes"):
        asyncio.run(read_body(source, BodyHeaders(b"101"), LIMIT, False))
    assert len(rest) == 2
    assert read([b"{}"], BodyHeaders(b"100")) == {}


@pytest.mark.parametrize("declared", [b"", b"-5", b"1e9", b"0x999", b" 999"])
def test_a_length_that_is_no_number_is_not_believed(declared: bytes) -> None:
    assert read([b"{}"], BodyHeaders(declared)) == {}


def test_reading_stops_at_the_limit() -> None:
    source, rest = exchange(*[b" " * 60] * 10)
    with pytest.raises(RequestFailed):
        asyncio.run(read_body(source, BodyHeaders(), LIMIT, False))
    assert len(rest) == 9


@pytest.mark.parametrize("chunks", [[], [b"{"]])
def test_a_client_that_leaves_while_it_sends(chunks: list[bytes]) -> None:
    with pytest.raises(ClientLeft):
        read(chunks, end=False)


def test_codings_are_undone_before_the_json_is_read() -> None:
    assert read([gzip.compress(b"{}")], BodyHeaders(codings=[b"gzip"])) == {}
    assert status_of([gzip.compress(b"{")], BodyHeaders(codings=[b"gzip"])) == 400
    assert status_of([b"{}"], BodyHeaders(codings=[b"br"])) == 415
    assert status_of([gzip.compress(bytes(LIMIT + 1))], BodyHeaders(codings=[b"gzip"])) == 413


def test_the_sent_size_is_limited_even_when_the_decoded_one_is_small() -> None:
    stored = gzip.compress(b"{}" + b" " * (LIMIT - 2), compresslevel=0)
    assert len(stored) > LIMIT
    assert status_of([stored], BodyHeaders(codings=[b"gzip"])) == 413


FORM = b'--b\r\nContent-Disposition: form-data; name="request"\r\n\r\n{}\r\n--b--'
MORE = b'--b\r\nContent-Disposition: form-data; name="asset-0"\r\n\r\nx\r\n--b--'
FORM_HEADERS = BodyHeaders(content_type=b"multipart/form-data; boundary=b")


def test_a_form_brings_its_request() -> None:
    assert read([FORM], FORM_HEADERS) == {}


def test_a_compressed_form_is_decoded_first() -> None:
    headers = BodyHeaders(content_type=FORM_HEADERS.content_type, codings=[b"zstd"])
    assert read([zstandard.compress(FORM)], headers) == {}


def test_a_form_where_json_is_asked_for() -> None:
    assert status_of([FORM], FORM_HEADERS, forms=False) == 400


def test_further_parts_come_beside_the_request() -> None:
    source = exchange(FORM.removesuffix(b"--b--") + MORE)[0]
    assert asyncio.run(read_body(source, FORM_HEADERS, 1000, True)) == ({}, {"asset-0": b"x"})


@pytest.mark.parametrize(
    "content_type", [b"application/json", b"text/plain", b"application/x-www-form-urlencoded", b"!"]
)
def test_any_other_type_is_read_as_json(content_type: bytes) -> None:
    assert read([b"{}"], BodyHeaders(content_type=content_type)) == {}
