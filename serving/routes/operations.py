"""What operators and probes ask: health, metrics and the API document (HTTP contract, sections 13 to 15)."""

from __future__ import annotations

from importlib.resources import files

from blacksheep import Content, Request, Response

from serving.http.responses import json_response
from serving.routes.router import Handler
from serving.routes.service import Metrics, Service


def health(service: Service) -> Handler:
    """Make the handler that says whether every model is ready: 200, else 503."""

    async def handle(request: Request) -> Response:  # noqa: ARG001
        status, body = service.health()
        return json_response(body, status)

    return handle


def liveness(service: Service) -> Handler:
    """Make the handler that says that the process lives."""

    async def handle(request: Request) -> Response:  # noqa: ARG001
        return json_response(service.liveness())

    return handle


def exposition(metrics: Metrics) -> Handler:
    """Make the handler that gives the counters in the Prometheus text format."""

    async def handle(request: Request) -> Response:  # noqa: ARG001
        return Response(200, None, Content(b"text/plain; version=0.0.4; charset=utf-8", metrics.render()))

    return handle


def api_document() -> Handler:
    """Make the handler that gives the packaged OpenAPI document byte for byte."""
    document = files("serving").joinpath("openapi.yaml").read_bytes()

    async def handle(request: Request) -> Response:  # noqa: ARG001
        return Response(200, None, Content(b"application/yaml", document))

    return handle
