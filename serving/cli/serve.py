"""The `serve` command: puts the process together, serves until a signal, says what can be asked."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from serving.cli.environment import make_kept_folder, prepare_environment
from serving.cli.failure import failing_on
from serving.cli.progress import Display, DisplayHandler, open_display
from serving.cli.sample import sample_request
from serving.cli.settings import read_settings
from serving.config import ModelEntry, Settings
from serving.devices import check_device
from serving.loaded import LoadedModel, Report
from serving.loader import Loader
from serving.metrics import Metrics
from serving.models import ModelTable, ServedModel
from serving.readiness import State
from serving.service import Service, planning_pool

if TYPE_CHECKING:
    from serving.assembly import Assembler


def serve(arguments: argparse.Namespace) -> int:
    """Serve models over HTTP until a signal ends the process."""
    settings = read_settings(arguments)
    only_cpu = all(check_device(entry.device)[0] == "cpu" for entry in settings.entries)
    prepare_environment(threads=arguments.threads, only_cpu=only_cpu)
    display = open_display()
    _set_up_logging(arguments.log_level, display)
    try:
        _run(settings, make_kept_folder(arguments.autotune_cache), display)
    finally:
        display.close()


def _set_up_logging(level: str, display: Display) -> None:
    """Show the project's records from `level` on, those of libraries from warnings on unless all is wanted."""
    logging.basicConfig(level=level.upper(), handlers=[DisplayHandler(display)])
    if level == "info":
        for library in ("uvicorn.error", "jax", "httpx", "absl"):
            logging.getLogger(library).setLevel(logging.WARNING)


def _run(settings: Settings, kept: Path, display: Display) -> NoReturn:
    from serving.app import build_app
    from serving.received import Endpoint
    from serving.server import HttpServer, ServerSettings, StartFailed
    from serving.sockets import CannotListen
    from serving.text_endpoints import GENERATE, TextEndpoint

    metrics = Metrics([*(endpoint.path for endpoint in Endpoint), *TextEndpoint, GENERATE])
    models = ModelTable([ServedModel(entry) for entry in settings.entries])
    watcher = Watcher(models, display, settings.with_page)
    loader = Loader(
        models,
        _lazy_load(settings, kept),
        is_final=_is_final,
        bounds=settings.bounds,
        retries=settings.retries,
        metrics=metrics,
        pool=planning_pool(),
        watcher=watcher,
        on_device_fault=lambda: server.fail(),
    )
    service = Service(models, loader, metrics, settings.limits, settings.schema)
    app = build_app(
        service,
        metrics,
        max_request_bytes=settings.limits.max_request_bytes,
        schema=settings.schema,
        with_page=settings.with_page,
    )

    def announce(line: str) -> None:
        display.line(line)
        watcher.url = line.removeprefix("listening on ").partition(", ")[0]
        loader.start()

    server = HttpServer(app, ServerSettings(settings.address))
    try:
        with failing_on(CannotListen, StartFailed):
            code = server.run(announce)
    except KeyboardInterrupt:
        code = 130
    _leave(code, display)


def _lazy_load(settings: Settings, kept: Path) -> Callable[[ModelEntry, Report], LoadedModel]:
    """Load models with libraries that are imported at the first load: HTTP answers before they are."""

    @cache
    def assembler() -> Assembler:
        from serving.assembly import Assembler
        from vela_jax.forward.compilation_cache import keep_compiled

        keep_compiled(kept / "executables")
        return Assembler(settings.sources, settings.engine_args, kept / "bit-classes")

    def load(entry: ModelEntry, report: Report) -> LoadedModel:
        if "jax" not in sys.modules:
            report("starting JAX", 0, 0)
        return assembler().load(entry, report)

    return load


def _is_final(error: BaseException) -> bool:
    from serving.assembly import FINAL_FAILURES

    return isinstance(error, FINAL_FAILURES)


def _leave(code: int, display: Display) -> NoReturn:
    """End at once: a thread that compiles or reads weights cannot be stopped, and must not outlive the interpreter."""
    display.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Watcher:
    """Shows the loads, and at their end a request to try and, with `with_page`, where the page is."""

    def __init__(self, models: ModelTable, display: Display, with_page: bool) -> None:
        self.url = ""
        self._with_page = with_page
        self._models = models
        self._display = display

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        """Show how far a load is."""
        self._display.stage(name, stage, done, total)

    def settled(self, served: ServedModel) -> None:
        """Say how a load ended; when no other is left, what can be asked."""
        if served.status.is_ready:
            self._display.line(f"{served.id} is ready")
        states = {each.status.state for each in self._models.models}
        if states <= {State.READY, State.FAILED}:
            self._display.close()
            for text in self._samples():
                self._display.line(text)

    def _samples(self) -> list[str]:
        ready = [served for served in self._models.models if served.status.is_ready]
        single = len(self._models.models) == 1
        texts = [sample_request(self.url, served, single) for served in ready[:1]]
        if texts and self._with_page and self.url.startswith("http"):
            texts.append(f"or open {self.url}/ in a browser")
        return texts
