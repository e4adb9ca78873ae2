"""`POST /inference/v1/generate`, whole or as a stream of events (token-in/token-out contract, sections 5 and 6)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from blacksheep import Request, Response, StreamedContent

from serving.http.exchange import ClientLeft, Exchange
from serving.http.json import encode
from serving.http.openai_errors import openai_error
from serving.http.responses import raw_json_response
from serving.routes.openai import read_json
from serving.routes.router import Handler
from serving.routes.service import Metrics, Service
from serving.routes.surfaces import CLIENT_LEFT
from serving.text_endpoints import GENERATE
from vela_jax.generation.requests import GenerateRequest, read_generate

if TYPE_CHECKING:
    from serving.generation import Generation

_DONE: Final = b"data: [DONE]\n\n"
_REQUEST_ID: Final = b"x-request-id"


@dataclass(frozen=True, slots=True)
class GenerateHandler:
    """Reads a request, has the model generate, encodes what comes."""

    service: Service
    metrics: Metrics
    max_request_bytes: int

    def bind(self) -> Handler:
        """Give the handler of the endpoint."""

        async def handle(request: Request) -> Response:
            return await self._respond(request)

        return handle

    async def _respond(self, request: Request) -> Response:
        started = time.monotonic()
        try:
            body, exchange = await read_json(request, self.max_request_bytes)
            asked, given = read_generate(body)
            generator = self.service.generator(asked.model or None)
            generation = await generator.start(asked, given, _request_id(request, asked))
            if asked.stream:

                async def events() -> AsyncIterator[bytes]:
                    async for event in self._events(generation, asked, exchange, started):
                        yield event

                return Response(200, None, StreamedContent(b"text/event-stream", events))
            with exchange.watch():
                encoded, status = encode(await generation.whole()), 200
        except ClientLeft:
            self._count(CLIENT_LEFT, started)
            return Response(CLIENT_LEFT)
        except Exception as error:
            status, refusal = openai_error(error)
            encoded = encode(refusal)
        self._count(status, started)
        return raw_json_response(encoded, status)

    async def _events(
        self, generation: Generation, asked: GenerateRequest, exchange: Exchange, started: float
    ) -> AsyncIterator[bytes]:
        """The events of a stream; an error becomes an event of its own, and the end follows in any case."""
        status = 200
        try:
            try:
                with exchange.watch():
                    async for chunk in generation.chunks():
                        yield _event(chunk)
                    if asked.options.include_usage:
                        yield _event(generation.usage_chunk())
            except ClientLeft:
                status = CLIENT_LEFT
                return
            except Exception as error:
                status, body = openai_error(error)
                yield _event(body)
            yield _DONE
        finally:
            generation.cancel()
            self._count(status, started)

    def _count(self, status: int, started: float) -> None:
        self.metrics.request_done(GENERATE, status, time.monotonic() - started)


def _event(body: object) -> bytes:
    return b"data: " + encode(body) + b"\n\n"


def _request_id(request: Request, asked: GenerateRequest) -> str:
    """The header goes before the member."""
    headers = request.scope["headers"]
    given = next((value for name, value in headers if name == _REQUEST_ID), None)
    return asked.request_id if given is None else given.decode("latin-1")
