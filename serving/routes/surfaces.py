"""The POST endpoints that ask a model: one handler, and the table of what differs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from blacksheep import Request, Response

from serving.errors import RequestFailed
from serving.http.body import body_headers, read_request
from serving.http.errors import error_body, failure_of
from serving.http.exchange import EXCHANGE, ClientLeft, Exchange
from serving.http.json import encode
from serving.http.responses import raw_json_response
from serving.routes.router import Handler
from serving.routes.service import Metrics, Service
from serving.timing import Timing
from vela_jax.contract import Surface

CLIENT_LEFT: Final = 499


@dataclass(frozen=True, slots=True)
class SurfaceRoute:
    """A POST endpoint; `forms` says whether it reads multipart bodies."""

    path: str
    surface: Surface
    forms: bool = False


SURFACE_ROUTES: Final = (
    SurfaceRoute("/v1/classify", Surface.CLASSIFY),
    SurfaceRoute("/v1/embeddings", Surface.EMBEDDINGS),
    SurfaceRoute("/v1/rerank", Surface.RERANK),
    SurfaceRoute("/v1/decisions", Surface.DECISIONS, forms=True),
)


@dataclass(frozen=True, slots=True)
class SurfaceHandler:
    """Decodes a request, calls the service, encodes the answer, with `Server-Timing` on whatever comes out."""

    service: Service
    metrics: Metrics
    max_request_bytes: int

    def bind(self, route: SurfaceRoute) -> Handler:
        """Give the handler of one endpoint."""

        async def handle(request: Request) -> Response:
            return await self._respond(route, request)

        return handle

    async def _respond(self, route: SurfaceRoute, request: Request) -> Response:
        timing = Timing()
        try:
            status, encoded = await self._answer(route, request, timing)
        except ClientLeft:
            # The server drops this response, since its connection is gone.
            self.metrics.request_done(route.path, CLIENT_LEFT, time.monotonic() - timing.started)
            return Response(CLIENT_LEFT)
        except Exception as error:
            status, encoded = _refuse(failure_of(error), timing)
        ended = time.monotonic()
        self.metrics.request_done(route.path, status, ended - timing.started)
        return raw_json_response(encoded, status, [(b"server-timing", timing.header(ended).encode())])

    async def _answer(self, route: SurfaceRoute, request: Request, timing: Timing) -> tuple[int, bytes]:
        self.service.check_ready_if_single()
        exchange: Exchange = request.scope[EXCHANGE]  # type: ignore[typeddict-item]
        headers = body_headers(request.scope["headers"])
        body = await read_request(exchange, headers, self.max_request_bytes, forms=route.forms)
        timing.received = time.monotonic()
        with exchange.watch():
            answer = await self.service.answer(route.surface, body, timing)
        return 200, _encode(answer, timing)


def _refuse(failure: RequestFailed, timing: Timing) -> tuple[int, bytes]:
    return failure.status, _encode(error_body(failure), timing)


def _encode(body: object, timing: Timing) -> bytes:
    """Encode and add the time it took, also when it failed."""
    started = time.monotonic()
    try:
        return encode(body)
    finally:
        timing.serialize += time.monotonic() - started
