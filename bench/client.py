"""A light HTTP client for load: kept connections, bodies made beforehand, little work beside the measured server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """One kept HTTP/1.1 connection; one request at a time. Understands answers with a `Content-Length` only."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect to `http://HOST:PORT`."""
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        return cls(reader, writer, parts.netloc)

    async def post(self, path: str, body: bytes) -> Reply:
        """Send a JSON body and read the answer."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode("ascii") + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        if "content-length" not in headers:
            raise RuntimeError(f"{path} answered without Content-Length: {lines[0]}")
        return Reply(int(lines[0].split()[1]), headers, await self._reader.readexactly(int(headers["content-length"])))

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()
