"""Many callers of one server at once: each has a connection of its own that it can also drop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, TypeVar

PATIENCE: Final = 120.0
T = TypeVar("T")


class Reply(NamedTuple):
    """Status and body of an answer."""

    status: int
    body: Any

    @property
    def result(self) -> Any:
        """The only result of an answered classify request."""
        assert self.status == 200, self
        (result,) = self.body["results"]
        return result

    @property
    def code(self) -> str:
        """The code of a refusal."""
        code: str = self.body["error"]["code"]
        return code


class Call:
    """A request that was sent on a connection of its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def send(cls, port: int, body: Any, path: str = "/v1/classify") -> Call:
        """Connect and send; OSError when the server takes no connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        await writer.drain()
        return cls(reader, writer)

    async def reply(self) -> Reply:
        """Wait for the answer; EOFError or OSError when there is none."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            content = await self._reader.read()
        finally:
            self._writer.close()
        return Reply(int(head.split()[1]), json.loads(content))

    def leave(self) -> None:
        """Drop the connection."""
        self._writer.transport.abort()


async def ask(port: int, body: Any) -> Reply:
    """Send a request and wait for its answer."""
    return await (await Call.send(port, body)).reply()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come to pass."""
    while not condition():
        await asyncio.sleep(0.002)


def on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine; fail rather than hang."""

    async def bounded() -> T:
        return await asyncio.wait_for(coroutine, PATIENCE)

    return asyncio.run(bounded())
