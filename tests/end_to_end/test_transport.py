"""Codings, request IDs, connections that are kept or closed, and clients that leave."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx
import pytest
import zstandard

from tests.end_to_end.asking import ask, embed, refusal, series
from tests.end_to_end.server import Running

TEXTS: Final = ["the river is long", "日本語のテキスト", "word " * 40]
BODIES: Final[dict[str, dict[str, Any]]] = {
    "/v1/embeddings": {"model": "embed", "input": TEXTS},
    "/v1/classify": {"model": "sequence", "input": TEXTS},
    "/v1/rerank": {"model": "reranker", "query": "the river", "documents": TEXTS},
    "/v1/decisions": {
        "model": "nli",
        "state": TEXTS[0],
        "questions": {"q": {"type": "noul", "instructions": "the text names a river"}},
    },
}


def streamed_zstd(body: bytes) -> bytes:
    """A frame that does not say how long its content is."""
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(body) + stream.flush()


CODINGS: Final[dict[str, tuple[str, Callable[[bytes], bytes]]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip under its old name": ("x-gzip", gzip.compress),
    "gzip in capitals": ("GZIP", gzip.compress),
    "zstd": ("zstd", zstandard.ZstdCompressor().compress),
    "zstd of unknown size": ("zstd", streamed_zstd),
    "zstd with a checksum": ("zstd", zstandard.ZstdCompressor(level=19, write_checksum=True).compress),
    "none": ("identity", bytes),
}


@pytest.mark.parametrize("path", BODIES)
def test_coded_bodies_are_answered_like_plain_ones(client: httpx.Client, path: str) -> None:
    body = json.dumps(BODIES[path]).encode()
    plain = client.post(path, content=body)
    assert plain.status_code == 200, plain.text[:300]
    for name, (coding, encode) in CODINGS.items():
        coded = client.post(path, content=encode(body), headers={"content-encoding": coding})
        assert (name, coded.status_code, coded.content) == (name, 200, plain.content)


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, zstd", "zstd, zstd", "compress", "gzip;q=1"])
def test_other_codings_are_named_and_refused(client: httpx.Client, coding: str) -> None:
    response = client.post("/v1/embeddings", content=b"whatever", headers={"content-encoding": coding})
    message = refusal(response, 415, "invalid_request")
    assert coding.split(",")[0].split(";")[0] in message


def _corrupt(coding: str) -> Iterator[tuple[str, bytes]]:
    encode = CODINGS[coding][1]
    whole = encode(json.dumps(BODIES["/v1/embeddings"]).encode())
    yield "cut short", whole[:-5]
    yield "followed by others", whole + b"{}"
    yield "two streams", whole + whole
    yield "no stream", b"this is not compressed"
    yield "nothing", b""
    yield (
        "one changed byte",
        whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 255]) + whole[len(whole) // 2 + 1 :],
    )


CORRUPT: Final = [
    (coding, name, body) for coding in ("gzip", "zstd with a checksum") for name, body in _corrupt(coding)
]


@pytest.mark.parametrize(("coding", "name", "body"), CORRUPT, ids=[f"{coding}-{name}" for coding, name, _ in CORRUPT])
def test_corrupt_bodies_are_refused(client: httpx.Client, coding: str, name: str, body: bytes) -> None:
    response = client.post("/v1/embeddings", content=body, headers={"content-encoding": CODINGS[coding][0]})
    assert refusal(response, 400, "invalid_request"), name


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_small_body_of_a_huge_text_is_refused(client: httpx.Client, coding: str) -> None:
    body = CODINGS[coding][1](b'{"input":"' + b" " * 64_000_000 + b'"}')
    response = client.post("/v1/embeddings", content=body, headers={"content-encoding": coding})
    refusal(response, 413, "request_too_large")


REQUESTS: Final[list[tuple[int, str, str, dict[str, Any]]]] = [
    (200, "POST", "/v1/embeddings", {"json": BODIES["/v1/embeddings"]}),
    (400, "POST", "/v1/embeddings", {"content": b"{"}),
    (404, "POST", "/v1/embeddings", {"json": {"model": "someone/else", "input": "a"}}),
    (413, "POST", "/v1/embeddings", {"content": b" " * 8_400_000}),
    (415, "POST", "/v1/classify", {"content": b"", "headers": {"content-encoding": "br"}}),
    (422, "POST", "/v1/rerank", {"json": {"model": "embed", "query": "a", "documents": ["a"]}}),
    (404, "POST", "/v2/rerank", {"json": {}}),
    (405, "GET", "/v1/rerank", {}),
    (405, "DELETE", "/v1/models", {}),
    (404, "GET", "/v1/models/unknown", {}),
    (404, "GET", "/nowhere", {}),
    (307, "GET", "/v1/models/", {}),
    (200, "GET", "/v1/models", {}),
    (200, "HEAD", "/health", {}),
    (200, "GET", "/health/live", {}),
    (200, "GET", "/metrics", {}),
    (200, "GET", "/openapi.yaml", {}),
]


def test_every_response_has_a_request_id_of_its_own(client: httpx.Client) -> None:
    seen = set()
    for status, method, path, members in REQUESTS * 3:
        response = client.request(method, path, **members)
        assert (path, response.status_code) == (path, status)
        (request_id,) = response.headers.get_list("x-typesafe-request-id")
        assert response.headers["x-request-id"] == request_id
        seen.add(request_id)
    assert len(seen) == 3 * len(REQUESTS)


def test_an_id_that_a_client_sends_is_not_given_to_others(client: httpx.Client) -> None:
    headers = {"x-request-id": "mine", "x-typesafe-request-id": "mine"}
    responses = [client.get("/health", headers=headers) for _ in range(2)]
    assert len({response.headers["x-typesafe-request-id"] for response in responses}) == 2


def test_a_connection_is_kept_through_errors(server: Running) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.connect()
    opened = connection.sock
    for status, method, path, members in [request for request in REQUESTS if request[0] != 307] * 2:
        body = json.dumps(members["json"]).encode() if "json" in members else members.get("content")
        connection.request(method, path, body=body, headers=members.get("headers", {}))
        response = connection.getresponse()
        response.read()
        assert (path, response.status) == (path, status)
        assert connection.sock is opened, f"closed after {method} {path}"
    connection.close()


def test_a_connection_is_closed_when_the_client_asks_for_it(server: Running) -> None:
    body = json.dumps(BODIES["/v1/embeddings"]).encode()
    for path, content, status in (("/v1/embeddings", body, 200), ("/v1/embeddings", b"{", 400), ("/nowhere", b"", 404)):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(content)}\r\n\r\n"
        answer = _exchange(server.port, head.encode(), content)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"\r\nconnection: close\r\n" in answer.lower()


def test_head_and_body_in_segments_of_their_own(server: Running) -> None:
    body = json.dumps(BODIES["/v1/embeddings"]).encode()
    head = (
        b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\nConnection: close\r\n"
        b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n"
    )
    whole = _exchange(server.port, head, body)
    parts = _exchange(server.port, head, *(body[place : place + 7] for place in range(0, len(body), 7)))
    assert whole.split(b"\r\n\r\n")[1] == parts.split(b"\r\n\r\n")[1]


def test_a_body_of_chunks(server: Running) -> None:
    body = json.dumps(BODIES["/v1/embeddings"]).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:10], body[10:])) + b"0\r\n\r\n"
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert _exchange(server.port, head, chunks).startswith(b"HTTP/1.1 200 ")


def test_parallel_calls_are_not_mixed_up(client: httpx.Client, server: Running) -> None:
    texts = [f"call {number} of many" for number in range(24)]
    alone = [embed(client, "embed", text)[0]["embedding"] for text in texts]

    async def call(client: httpx.AsyncClient, text: str) -> str:
        body = {"model": "embed", "input": text, "encoding_format": "base64"}
        response = await client.post("/v1/embeddings", json=body)
        vector: str = response.json()["data"][0]["embedding"]
        return vector

    async def call_all() -> list[str]:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            return list(await asyncio.gather(*(call(client, text) for text in texts)))

    assert asyncio.run(call_all()) == alone


LEAVERS: Final = 50
LEFT: Final = 'vllm_srun_requests_total{endpoint="/v1/embeddings",status="499"}'


def test_clients_that_leave_are_harmless(client: httpx.Client, server: Running) -> None:
    before = series(client)[LEFT]
    connections = [_leave_after(server.port, _long_request(number)) for number in range(LEAVERS)]
    for connection in connections:
        connection.close()
    assert _until(lambda: series(client)[LEFT] - before == LEAVERS)
    assert _until(lambda: series(client)["vllm_srun_queue_depth"] == 0)
    live = [served.live for served in server.models.models]
    assert all(each is not None and each.scheduler.pending == (0, 0) for each in live)
    assert "embedding" in embed(client, "embed", "still here")[0]


def test_a_client_that_leaves_while_it_sends_is_counted(client: httpx.Client, server: Running) -> None:
    before = series(client)[LEFT]
    request = _long_request(1)
    _leave_after(server.port, request[: len(request) // 2]).close()
    assert _until(lambda: series(client)[LEFT] - before == 1)
    assert ask(client, "/v1/embeddings", BODIES["/v1/embeddings"])["data"]


def _long_request(number: int) -> bytes:
    """A call of hundreds of forwards, none of which another call shares."""
    body = json.dumps({"model": "embed", "input": [f"{number} {place} a" for place in range(600)]}).encode()
    return b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _leave_after(port: int, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(sent)
    return connection


def _exchange(port: int, *segments: bytes) -> bytes:
    """Send the segments one by one and read until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for segment in segments:
            connection.sendall(segment)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def _until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether the condition comes true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
