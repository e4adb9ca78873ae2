"""The endpoints that render and derender, each request on a thread (token-in/token-out contract, sections 8 to 12)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from blacksheep import Request, Response

from serving.errors import ErrorCode, RequestFailed
from serving.http.exchange import ClientLeft
from serving.http.json import encode
from serving.http.openai_errors import openai_error
from serving.http.responses import raw_json_response
from serving.routes.openai import read_json
from serving.routes.router import Handler
from serving.routes.service import Metrics, Service
from serving.routes.surfaces import CLIENT_LEFT
from serving.text_endpoints import TextEndpoint

if TYPE_CHECKING:
    from serving.text_side import TextSide

    Find = Callable[[str | None], TextSide]

MAX_WAITING: Final = 256
"""Requests at work or waiting for a thread; one more is refused."""


def text_pool() -> Executor:
    """Give the threads of a process that render and derender, started when they are needed."""
    return ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="text")


@dataclass(slots=True)
class TextHandler:
    """Reads a request, has a thread of `pool` do its work, encodes the answer."""

    service: Service
    metrics: Metrics
    max_request_bytes: int
    pool: Executor
    waiting: int = 0

    def bind(self, endpoint: TextEndpoint) -> Handler:
        """Give the handler of one endpoint."""

        async def handle(request: Request) -> Response:
            return await self._respond(endpoint, request)

        return handle

    async def _respond(self, endpoint: TextEndpoint, request: Request) -> Response:
        started = time.monotonic()
        try:
            status, encoded = 200, await self._answer(endpoint, request)
        except ClientLeft:
            self.metrics.request_done(endpoint.value, CLIENT_LEFT, time.monotonic() - started)
            return Response(CLIENT_LEFT)
        except Exception as error:
            status, body = openai_error(error)
            encoded = encode(body)
        self.metrics.request_done(endpoint.value, status, time.monotonic() - started)
        return raw_json_response(encoded, status)

    async def _answer(self, endpoint: TextEndpoint, request: Request) -> bytes:
        body, exchange = await read_json(request, self.max_request_bytes)
        if self.waiting >= MAX_WAITING:
            raise RequestFailed(ErrorCode.OVERLOADED, f"{MAX_WAITING} requests are waiting: try again later")
        self.waiting += 1
        try:
            with exchange.watch():
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self.pool, _work, endpoint, body, self.service.text_side)
        finally:
            self.waiting -= 1


def _work(endpoint: TextEndpoint, body: Any, find: Find) -> bytes:
    from serving.text_side import read_text_request  # with its tokenizer library, which a server of encoders can spare

    name, work = read_text_request(endpoint, body)
    return encode(work(find(name)))
