from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from serving.errors import ErrorCode, RequestFailed
from serving.http import edge
from serving.http.edge import Edge
from serving.http.exchange import EXCHANGE, App, Exchange, Message, Receive, Scope, Send

BODY: Message = {"type": "http.request", "body": b"", "more_body": False}
LEFT: Message = {"type": "http.disconnect"}


async def answering(_scope: Scope, _receive: Receive, send: Send) -> None:
    """An application that answers without reading."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": b"x", "more_body": False})


def call(app: App, *messages: Message, headers: tuple[tuple[bytes, bytes], ...] = ()) -> list[Message]:
    """What the edge sends; after the given messages nothing comes in any more."""
    pending = list(messages)
    sent: list[Message] = []

    async def receive() -> Message:
        if pending:
            return pending.pop(0)
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(edge_call(Edge(app), receive, send, headers), 10))
    return sent


async def edge_call(app: Edge, receive: Receive, send: Send, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    await app({"type": "http", "headers": headers}, receive, send)


def raising(error: Callable[[], BaseException], after_start: bool = False) -> App:
    """An application that fails, perhaps in the middle of its answer."""

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        if after_start:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error()

    return app


def test_ids_are_equal_and_fresh() -> None:
    seen = set()
    for _ in range(50):
        headers = dict(call(answering, BODY)[0]["headers"])
        assert headers[b"a"] == b"b"
        assert headers[b"x-typesafe-request-id"] == headers[b"x-request-id"]
        seen.add(headers[b"x-request-id"])
    assert len(seen) == 50


def test_the_application_finds_the_exchange() -> None:
    found: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        found.append(scope[EXCHANGE])
        await answering(scope, receive, send)

    call(app, BODY)
    assert isinstance(found[0], Exchange)


def test_other_scopes_pass_through() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope)

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    asyncio.run(Edge(app)({"type": "lifespan"}, nothing, nothing))
    assert seen == [{"type": "lifespan"}]


@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        (lambda: ValueError("broken\nhere"), 500, "internal_error", "ValueError: broken\nhere"),
        (lambda: asyncio.CancelledError(), 503, "not_ready", "the server is shutting down"),
        (lambda: RequestFailed(ErrorCode.OVERLOADED, "full"), 429, "overloaded", "full"),
    ],
)
def test_a_broken_application_is_answered_for(
    error: Callable[[], BaseException], status: int, code: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    start, body = call(raising(error), BODY)
    assert start["status"] == status
    assert json.loads(body["body"]) == {"error": {"code": code, "message": message}}
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"content-length"] == str(len(body["body"])).encode()
    assert b"x-request-id" in headers
    assert len(caplog.records) == (status == 500)


def test_an_answer_under_way_is_not_answered_again() -> None:
    assert len(call(raising(lambda: ValueError("late"), after_start=True), BODY)) == 1


def test_a_message_of_any_text_can_be_sent() -> None:
    body = call(raising(lambda: RequestFailed(ErrorCode.INVALID_REQUEST, "lone \ud800")), BODY)[1]["body"]
    assert json.loads(body)["error"]["message"] == "lone ?"


def test_a_request_without_a_body_is_answered_at_once() -> None:
    for headers in ((), ((b"content-length", b"0"),)):
        assert len(call(answering, headers=headers)) == 2


@pytest.mark.parametrize("header", [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")])
def test_the_end_of_an_answer_waits_for_an_unread_body(header: tuple[bytes, bytes]) -> None:
    part: Message = {"type": "http.request", "body": b"x", "more_body": True}
    sent = call(answering, part, part, BODY, headers=(header,))
    assert [(message.get("body"), message.get("more_body")) for message in sent[1:]] == [(b"x", True), (b"", False)]


def test_a_client_that_left_is_not_waited_for() -> None:
    assert len(call(answering, LEFT, headers=((b"content-length", b"5"),))) == 3


def test_the_wait_for_an_unread_body_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "LINGER_SECONDS", 0.02)
    started = time.monotonic()
    assert len(call(answering, headers=((b"content-length", b"5"),))) == 3
    assert time.monotonic() - started < 5


def test_an_upload_that_is_cancelled_at_a_shutdown_ends_quietly() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise asyncio.CancelledError

    async def send(message: Message) -> None:
        sent.append(message)

    app = Edge(raising(asyncio.CancelledError))
    asyncio.run(edge_call(app, receive, send, ((b"content-length", b"5"),)))
    assert sent[0]["status"] == 503
    assert sent[-1]["more_body"] is False
