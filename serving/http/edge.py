"""The outermost ASGI layer: every response carries a request ID, whatever happened inside."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from typing import Final

from serving.errors import ErrorCode, RequestFailed
from serving.http.errors import error_body, failure_of
from serving.http.exchange import EXCHANGE, App, ClientLeft, Exchange, Message, Receive, Scope, Send
from serving.http.json import encode

LINGER_SECONDS: Final = 2.0
"""How long the end of a response waits for the rest of a request body that was refused unread."""


def new_request_id() -> bytes:
    """Give an ID that no other exchange has."""
    return secrets.token_hex(16).encode()


class Edge:
    """Wraps the application: request IDs on every response, and a JSON answer when the application broke.

    The request ID is fresh for each exchange and stands in `x-typesafe-request-id` and `x-request-id`.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = scope[EXCHANGE] = Exchange(receive)
        outlet = _Outlet(scope, exchange, send)
        try:
            await self._app(scope, receive, outlet.send)
        except asyncio.CancelledError:
            await outlet.fail(RequestFailed(ErrorCode.NOT_READY, "the server is shutting down"))
        except Exception as error:
            await outlet.fail(failure_of(error))


class _Outlet:
    """The way out of one exchange."""

    __slots__ = ("_exchange", "_scope", "_send", "_started")

    def __init__(self, scope: Scope, exchange: Exchange, send: Send) -> None:
        self._scope = scope
        self._exchange = exchange
        self._send = send
        self._started = False

    async def send(self, message: Message) -> None:
        """Pass a message on, with the request ID when it starts the response."""
        if message["type"] == "http.response.start":
            self._started = True
            request_id = new_request_id()
            headers = list(message["headers"])
            headers += ((b"x-typesafe-request-id", request_id), (b"x-request-id", request_id))
            message["headers"] = headers
        elif not (message.get("more_body") or self._exchange.body_read) and _has_body(self._scope["headers"]):
            await self._send({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def fail(self, failure: RequestFailed) -> None:
        """Answer with an error body unless an answer is already on its way."""
        if self._started:
            return
        body = encode(error_body(failure))
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": failure.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    async def _linger(self) -> None:
        """Let the rest of an unread body run out: a connection closed at once could take the answer with it."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while not self._exchange.body_read:
                    await self._exchange.next_chunk()
        except (TimeoutError, ClientLeft, asyncio.CancelledError):
            pass  # cancelled at a shutdown: the answer is out, and nothing of it waits


def _has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0") != b"")
        for name, value in headers
    )
