"""A model loaded into this process, asked without HTTP: the same bodies in and out as a server's."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from checkpoints.tables.embedded import MINILM
from serving.calls import answer_tasks
from serving.card import model_card
from serving.cli.ask.answering import Reply, read_phases
from serving.cli.ask.request import called_for
from serving.cli.failure import CommandFailed, failing_on
from serving.config import Bounds, ConfigError, ModelEntry, PackageSources
from serving.decisions import task_of
from serving.errors import RequestFailed
from serving.http.errors import failure_of
from serving.http.json import encode
from serving.live import LiveModel
from serving.models import ModelTable, ServedModel
from serving.readiness import State, Status
from serving.received import Received
from serving.scheduler import Scheduler
from serving.task import find, refusal_of
from serving.timing import Timing
from vela_jax.contract import Surface

if TYPE_CHECKING:
    from serving.cli.progress import Display
    from serving.loaded import LoadedModel


DEFAULTS: Final = MappingProxyType(
    {
        Surface.CLASSIFY: "Vela-Mini-Domain",
        Surface.DECISIONS: "Vela-Mini-Decision",
        Surface.EMBEDDINGS: "Vela-Mini-Embedding",
        Surface.RERANK: "Vela-Mini-Reranker",
    }
)
"""Our own models by what they are asked for."""


def default_model(arguments: argparse.Namespace) -> str:
    """The embedded model for what the command line asks; without questions it is the larger embedder, if it is here."""
    surface = Surface(called_for(arguments) or Surface.EMBEDDINGS)
    return MINILM.name if surface is Surface.EMBEDDINGS and MINILM.is_installed else DEFAULTS[surface]


class LocalModel:
    """A loaded model behind a scheduler of its own; `close` ends its threads."""

    def __init__(self, entry: ModelEntry, loaded: LoadedModel) -> None:
        bounds = Bounds()
        served = ServedModel(entry)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="plan")
        self._scheduler = Scheduler(loaded.engine, max_jobs=bounds.max_queue, max_tokens=bounds.max_queued_tokens)
        self._scheduler.start()
        served.loaded = loaded
        served.live = LiveModel(loaded, self._scheduler, self._pool)
        served.status = Status(State.READY, None)
        self._served = served

    @classmethod
    def load(cls, arguments: argparse.Namespace, display: Display) -> Self:
        """Load the model of the command line; buckets are compiled when a request needs them. Raises CommandFailed."""
        from checkpoints.hub import HubError
        from serving.assembly import FINAL_FAILURES, Assembler
        from vela_jax.forward.engine_args import EngineArgs

        name = arguments.model or default_model(arguments)
        entry = ModelEntry(model=name, revision=arguments.revision, device=arguments.device)
        sources = PackageSources(
            cache_dir=arguments.cache_dir,
            offline=arguments.offline,
            accepted_licences=tuple(arguments.accept_licence),
        )
        report = partial(display.stage, name)
        with failing_on(*FINAL_FAILURES, ConfigError, HubError, OSError):
            entry.check()
            loaded = Assembler(sources, EngineArgs(warmup=(), background=(), row_buckets=(1,))).load(entry, report)
            loaded.warm(report)
        return cls(entry, loaded)

    def card(self) -> Mapping[str, Any]:
        """The card as a server shows it."""
        return model_card(self._served)

    def ask(self, surface: str, body: Mapping[str, Any]) -> Reply:
        """Answer a request. Raises CommandFailed with the refusal."""
        try:
            return asyncio.run(self._ask(Surface(surface), json.loads(json.dumps(body))))
        except RequestFailed as error:
            raise CommandFailed(f"{self._served.id} refused: {error.code}: {error}") from error

    def close(self) -> None:
        """End the threads."""
        self._scheduler.stop()
        self._pool.shutdown()
        if self._served.loaded is not None:
            self._served.loaded.close()

    async def _ask(self, surface: Surface, body: Any) -> Reply:
        timing = Timing()
        timing.received = time.monotonic()
        call = Received(body)
        try:
            found = find(ModelTable([self._served]), surface, call.body, timing.received)
            tasks = [task_of(surface, found, call.parts, set())]
        except Exception as error:
            raise failure_of(refusal_of(error)) from error
        (response,) = await answer_tasks(tasks, timing, call.size, lambda _: None)
        if isinstance(response, Exception):
            raise failure_of(response)
        started = time.monotonic()
        content = encode(response)
        ended = time.monotonic()
        timing.serialize = ended - started
        return Reply(content, read_phases(timing.header(ended)))
