"""The light client, against a server that answers what it is told."""

from __future__ import annotations

import asyncio

import pytest

from bench.client import Connection, Reply

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer-Timing: total;dur=1.0\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"


async def _ask(answers: list[bytes], bodies: list[bytes]) -> tuple[list[Reply], bytes]:
    heard = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal heard
        for answer, body in zip(answers, bodies, strict=True):
            heard += await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(len(body))
            writer.write(answer)
            await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        connection = await Connection.open(f"http://127.0.0.1:{port}")
        try:
            replies = [await connection.post("/v1/x", body) for body in bodies]
        finally:
            await connection.close()
        return replies, heard


def test_a_connection_is_kept_for_many_requests() -> None:
    replies, heard = asyncio.run(_ask([OK, OK.replace(b"200 OK", b"404 Not Found")], [b"{}", b"[1]"]))
    assert [(reply.status, reply.body) for reply in replies] == [(200, b"hi"), (404, b"hi")]
    assert replies[0].headers["server-timing"] == "total;dur=1.0"
    assert heard.count(b"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:") == 2
    assert b"Content-Length: 3\r\n\r\n[1]" in heard


def test_an_answer_without_a_length_is_not_understood() -> None:
    with pytest.raises(RuntimeError, match="without Content-Length"):
        asyncio.run(_ask([CHUNKED], [b"{}"]))
