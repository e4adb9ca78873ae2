"""The HTTP application, put together in one place."""

from __future__ import annotations

from typing import Final

from blacksheep import Application, Request, Response

from serving.http.edge import Edge
from serving.http.errors import failure_of
from serving.http.responses import error_response
from serving.received import Endpoint
from serving.routes.generate import GenerateHandler
from serving.routes.models import model, models
from serving.routes.operations import api_document, exposition, health, liveness
from serving.routes.page import page
from serving.routes.router import ExactRouter
from serving.routes.service import Metrics, Service
from serving.routes.surfaces import SurfaceHandler
from serving.routes.texts import TextHandler, text_pool
from serving.schema import Schema
from serving.text_endpoints import GENERATE, TextEndpoint

MAX_REQUEST_BYTES: Final = 8 * 1024 * 1024


def build_app(
    service: Service,
    metrics: Metrics,
    *,
    max_request_bytes: int = MAX_REQUEST_BYTES,
    schema: Schema = Schema.V5,
    with_page: bool = True,
) -> Edge:
    """Give the ASGI application over a service; its lifespan ends with `service.stop()`.

    `with_page` says whether `/` answers a person's browser.
    """
    surfaces = SurfaceHandler(service, metrics, max_request_bytes, schema)
    pool = text_pool()
    texts = TextHandler(service, metrics, max_request_bytes, pool)
    generate = GenerateHandler(service, metrics, max_request_bytes)
    router = _routes(service, surfaces, texts, metrics)
    router.add_post(GENERATE, generate.bind())
    if with_page:
        router.add_read("/", page())
    app = Application(router=router)
    app.exceptions_handlers[Exception] = _answer_exception

    async def stop(_: Application) -> None:
        await service.stop()
        pool.shutdown(wait=False, cancel_futures=True)

    app.on_stop += stop
    return Edge(app)


def _routes(service: Service, surfaces: SurfaceHandler, texts: TextHandler, metrics: Metrics) -> ExactRouter:
    router = ExactRouter()
    for endpoint in Endpoint:
        router.add_post(endpoint.path, surfaces.bind(endpoint))
    for text_endpoint in TextEndpoint:
        router.add_post(text_endpoint.value, texts.bind(text_endpoint))
    router.add_read("/v1/models", models(service))
    router.add_read("/v1/models/{path:id}", model(service))
    router.add_read("/health", health(service))
    router.add_read("/health/live", liveness(service))
    router.add_read("/metrics", exposition(metrics))
    router.add_read("/openapi.yaml", api_document())
    return router


async def _answer_exception(app: Application, request: Request, error: Exception) -> Response:  # noqa: ARG001
    return error_response(failure_of(error))
