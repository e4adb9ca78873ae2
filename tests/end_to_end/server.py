"""A whole server in this process: real packages, real HTTP, on a loopback port of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

from serving.app import build_app
from serving.assembly import FINAL_FAILURES, Assembler
from serving.config import Bounds, Limits, ModelEntry, PackageSources, Retries
from serving.loaded import LoadedModel, Report
from serving.loader import Loader, LoadModel
from serving.metrics import Metrics
from serving.models import ModelTable, ServedModel
from serving.received import Endpoint
from serving.server import HttpServer, ServerSettings
from serving.service import Service, planning_pool
from serving.sockets import Address
from serving.text_endpoints import TextEndpoint
from vela_jax.forward.compilation_cache import keep_compiled
from vela_jax.forward.engine_args import EngineArgs

COLD = EngineArgs(warmup=(), background=(), row_buckets=(1,))
FEW_BUCKETS = EngineArgs(warmup=(), background=(), row_buckets=(1,), length_buckets=(96, 256, 1024, 4096))
"""Lengths for tests that are not about buckets: each one costs half a second of compiling in every model."""


@contextmanager
def keeping_compiled(tests: pytest.TempPathFactory) -> Iterator[None]:
    """Compile what several models of the tests share only once; later tests find the settings as they were."""
    keep_compiled(tests.getbasetemp() / "compiled")
    try:
        yield
    finally:
        jax.config.update("jax_compilation_cache_dir", None)
        compilation_cache.reset_cache()


@dataclass(frozen=True, slots=True)
class Running:
    """A started server."""

    url: str
    port: int
    models: ModelTable
    loader: Loader

    def require_ready(self) -> None:
        """Fail with the reasons of the models that are not ready."""
        reasons = {served.id: served.status.reason for served in self.models.models if not served.status.is_ready}
        assert not reasons


class _Quiet:
    """A watcher of loads that says nothing."""

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        pass

    def settled(self, served: ServedModel) -> None:
        pass


def _as_it_is(load: LoadModel) -> LoadModel:
    return load


@contextmanager
def running(
    entries: Sequence[ModelEntry],
    *,
    bounds: Bounds = Bounds(),  # noqa: B008
    limits: Limits = Limits(),  # noqa: B008
    args: EngineArgs = COLD,
    wrap: Callable[[LoadModel], LoadModel] = _as_it_is,
    wait: bool = True,
) -> Iterator[Running]:
    """Serve the entries; by default wait until every load has settled. `wrap` may change how a model is loaded."""
    models = ModelTable([ServedModel(entry) for entry in entries])
    metrics = Metrics([*(endpoint.path for endpoint in Endpoint), *TextEndpoint])
    pool = planning_pool()
    assembler = Assembler(PackageSources(offline=True), args)

    def load(entry: ModelEntry, report: Report) -> LoadedModel:
        return assembler.load(entry, report)

    loader = Loader(
        models,
        wrap(load),
        is_final=lambda error: isinstance(error, FINAL_FAILURES),
        bounds=bounds,
        retries=Retries(attempts=1),
        metrics=metrics,
        pool=pool,
        watcher=_Quiet(),
        on_device_fault=lambda: server.stop(),
    )
    service = Service(models, loader, metrics, limits)
    port = free_port()
    app = build_app(service, metrics, max_request_bytes=limits.max_request_bytes)
    server = HttpServer(app, ServerSettings(Address(port=port)))
    started = threading.Event()
    thread = threading.Thread(target=lambda: server.run(lambda _: started.set()), daemon=True)
    thread.start()
    loader.start()
    assert started.wait(30)
    if wait:
        loader.join()
    try:
        yield Running(f"http://127.0.0.1:{port}", port, models, loader)
    finally:
        server.stop()
        thread.join(60)
        loader.join(60)
        pool.shutdown()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
