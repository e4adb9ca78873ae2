"""The POST endpoints that ask models: one handler for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from blacksheep import Request, Response

from serving.errors import RequestFailed
from serving.http.body import body_headers, read_body
from serving.http.errors import error_body, failure_of
from serving.http.exchange import EXCHANGE, ClientLeft, Exchange
from serving.http.json import encode
from serving.http.responses import Headers, raw_json_response
from serving.http.systemone_errors import headers_of, status_of, systemone_body
from serving.received import Endpoint, Received
from serving.routes.router import Handler
from serving.routes.service import Metrics, Service
from serving.schema import Schema
from serving.timing import Timing

CLIENT_LEFT: Final = 499
LONG_CONTEXT: Final = b"typesafe-danger-zone-long-context"


@dataclass(frozen=True, slots=True)
class SurfaceHandler:
    """Decodes a request, calls the service, encodes the answer, with `Server-Timing` on whatever comes out."""

    service: Service
    metrics: Metrics
    max_request_bytes: int
    schema: Schema

    def bind(self, endpoint: Endpoint) -> Handler:
        """Give the handler of one endpoint."""

        async def handle(request: Request) -> Response:
            return await self._respond(endpoint, request)

        return handle

    async def _respond(self, endpoint: Endpoint, request: Request) -> Response:
        timing = Timing()
        headers: Headers = []
        try:
            status, encoded = await self._answer(endpoint, request, timing)
        except ClientLeft:
            # The server drops this response, since its connection is gone.
            self.metrics.request_done(endpoint.path, CLIENT_LEFT, time.monotonic() - timing.started)
            return Response(CLIENT_LEFT)
        except Exception as error:
            status, encoded, headers = self._refuse(endpoint, failure_of(error), timing)
        ended = time.monotonic()
        self.metrics.request_done(endpoint.path, status, ended - timing.started)
        return raw_json_response(encoded, status, [(b"server-timing", timing.header(ended).encode()), *headers])

    async def _answer(self, endpoint: Endpoint, request: Request, timing: Timing) -> tuple[int, bytes]:
        if endpoint is not Endpoint.BUNDLE:  # whose tasks are refused one by one
            self.service.check_ready_if_single()
        exchange: Exchange = request.scope[EXCHANGE]  # type: ignore[typeddict-item]
        headers = request.scope["headers"]
        body, parts = await read_body(exchange, body_headers(headers), self.max_request_bytes, endpoint.reads_forms)
        timing.received = time.monotonic()
        with exchange.watch():
            call = Received(body, parts, endpoint.is_systemone and _allows_long(headers))
            answer = await self.service.answer(endpoint, call, timing)
        return 200, _encode(answer, timing)

    def _refuse(self, endpoint: Endpoint, failure: RequestFailed, timing: Timing) -> tuple[int, bytes, Headers]:
        if not endpoint.is_systemone:
            return failure.status, _encode(error_body(failure), timing), []
        status = status_of(failure, self.schema)
        return status, _encode(systemone_body(failure, self.schema), timing), headers_of(status)


def _allows_long(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == LONG_CONTEXT and value.strip().lower() == b"true" for name, value in headers)


def _encode(body: object, timing: Timing) -> bytes:
    """Encode and add the time it took, also when it failed."""
    started = time.monotonic()
    try:
        return encode(body)
    finally:
        timing.serialize += time.monotonic() - started
