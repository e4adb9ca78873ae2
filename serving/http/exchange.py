"""One HTTP exchange as the layers share it: what of the request was read, and whether the client is still there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

EXCHANGE: Final = "vela.exchange"
"""Key of the `Exchange` in an ASGI scope."""


class ClientLeft(Exception):
    """The client closed its connection before it was answered."""


class Exchange:
    """Reads the request of one exchange.

    `body_read` is true once the whole request body has come in.
    """

    __slots__ = ("_receive", "body_read")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.body_read = False

    async def next_chunk(self) -> bytes:
        """Give the next bytes of the body; sets `body_read` with the last ones. Raises ClientLeft."""
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientLeft
        self.body_read = not message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        return chunk

    def watch(self) -> ClientWatch:
        """Make the watch that cancels its block when the client leaves; for use when the body has been read."""
        return ClientWatch(self._receive)


class ClientWatch:
    """Cancels the task that is in its block as soon as the client leaves; the block then raises ClientLeft."""

    __slots__ = ("_left", "_receive", "_task", "_watcher")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = False

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._watcher = loop.create_task(self._cancel_when_left())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watcher.cancel()
        # A task that somebody else cancelled as well stays cancelled.
        if self._left and self._task is not None and self._task.uncancel() == 0:
            raise ClientLeft from None

    async def _cancel_when_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._left = True
        if self._task is not None:
            self._task.cancel()
