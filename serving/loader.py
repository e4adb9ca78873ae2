"""Loads the served models one after another on a thread of its own (runtime rules, section 9.2)."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from serving import golden
from serving.asking import asking
from serving.config import Bounds, ModelEntry, Retries
from serving.live import LiveModel
from serving.loaded import LoadedModel, Report, TokenSide
from serving.metrics import Metrics, ModelInfo
from serving.models import ModelTable, ServedModel
from serving.readiness import State, Status
from serving.result_cache import ResultCache
from serving.scheduler import Scheduler
from serving.text_side import TextSide
from vela_jax.contract import DeviceFault

if TYPE_CHECKING:
    from serving.generation import Generator

LoadModel = Callable[[ModelEntry, Report], LoadedModel]
GOLDEN_STAGE: Final = "readiness requests"

_log = logging.getLogger(__name__)


class LoadWatcher(Protocol):
    """Hears how the loads go; called on the loader's thread."""

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        """A stage of a model's load is so far; `total` is 0 where it is unknown."""

    def settled(self, served: ServedModel) -> None:
        """A load ended: the model is ready, has failed, or will be tried again."""


class Loader:
    """Brings every model up, in order; a model that fails leaves the others serving.

    `is_final` knows the failures that no retry can mend. Everything else is tried again, after the other
    models, until the attempts are used up. `on_device_fault` is called when the device fails under a model that
    serves: the process must be started anew.
    """

    def __init__(
        self,
        models: ModelTable,
        load: LoadModel,
        *,
        is_final: Callable[[BaseException], bool],
        bounds: Bounds,
        retries: Retries,
        metrics: Metrics,
        pool: Executor,
        watcher: LoadWatcher,
        on_device_fault: Callable[[], None],
    ) -> None:
        self._models = models
        self._load = load
        self._is_final = is_final
        self._bounds = bounds
        self._retries = retries
        self._metrics = metrics
        self._pool = pool
        self._watcher = watcher
        self._on_device_fault = on_device_fault
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        for served in models.models:
            metrics.add_model(served.entry.label)

    @property
    def is_alive(self) -> bool:
        """Whether models are still being loaded."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start loading."""
        self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Wait until every model is ready or has failed."""
        self._thread.join(timeout)

    def stop(self) -> None:
        """Begin no further load; one under way ends by itself or with the process."""
        self._stopping.set()

    def _run(self) -> None:
        """Pass over the models that are left until there are none."""
        attempts = dict.fromkeys(self._models.models, 0)
        due = dict.fromkeys(self._models.models, 0.0)
        while due and not self._stopping.wait(max(0.0, min(due.values()) - time.monotonic())):
            now = time.monotonic()
            for served in [each for each, instant in due.items() if instant <= now]:
                if self._stopping.is_set():
                    return
                attempts[served] += 1
                if self._attempt(served, attempts[served]):
                    del due[served]
                else:
                    due[served] = time.monotonic() + self._retries.delay(attempts[served])
            _freeze_heap()
        for served in self._models.models:  # only now: what is left to the background would slow the loads
            if served.live is not None:
                served.live.loaded.fill()

    def _attempt(self, served: ServedModel, attempt: int) -> bool:
        """Try to bring a model up; tells whether its fate is settled."""
        try:
            self._bring_up(served)
            settled = True
        except BaseException as error:  # a panic of a native library is no Exception
            settled = self._note_failure(served, error, attempt)
        self._watcher.settled(served)
        return settled

    def _bring_up(self, served: ServedModel) -> None:
        served.status = Status(State.LOADING, "starting to load")
        loaded = self._load(served.entry, partial(self._report, served, State.LOADING))
        served.loaded = loaded
        if loaded.tokens is not None:
            served.text = TextSide.of(loaded.tokens.planner.profile, served.id)
        scheduler = Scheduler(
            loaded.engine,
            max_jobs=self._bounds.max_queue,
            max_tokens=self._bounds.max_queued_tokens,
            name=served.id,
            on_fault=partial(self._note_fault, served),
        )
        try:
            found = self._warm(served, loaded, scheduler)
        except BaseException:
            scheduler.stop()
            loaded.close()
            raise
        self._open(served, loaded, scheduler, found)

    def _warm(self, served: ServedModel, loaded: LoadedModel, scheduler: Scheduler) -> golden.Golden:
        """Make a model ready to answer, and ask it what it must be able to answer."""
        served.status = Status(State.WARMING, "warm-up")
        loaded.warm(partial(self._report, served, State.WARMING))
        scheduler.start()
        self._report(served, State.WARMING, GOLDEN_STAGE, 0, 0)
        live = LiveModel(loaded, scheduler, self._pool)
        check = golden.check(loaded.description, asking(served, live), loaded.accelerator, loaded.reference)
        return asyncio.run(check)

    def _open(self, served: ServedModel, loaded: LoadedModel, scheduler: Scheduler, found: golden.Golden) -> None:
        """Let requests in."""
        self._metrics.rename_model(served.entry.label, served.id)
        info = ModelInfo(
            model=served.id,
            revision=loaded.provenance.revision,
            family=loaded.description.family,
            engine=loaded.engine_name,
            accelerator=loaded.accelerator,
            device=loaded.device,
        )
        self._metrics.model_loaded(info, loaded.memory_bytes, loaded.description.question_types)
        scheduler.observe(self._metrics.observe_model(served.id, loaded.lengths, loaded.compiles))
        entries = self._bounds.result_cache_entries
        cache = ResultCache(entries, partial(self._metrics.cache_looked_up, served.id)) if entries else None
        served.live = LiveModel(loaded, scheduler, self._pool, cache)
        if loaded.tokens is not None:
            served.generator = self._generator(served, loaded.tokens)
        served.golden = found
        served.status = Status(State.READY, None)

    def _generator(self, served: ServedModel, tokens: TokenSide) -> Generator:
        """Start stepping a generator's engine."""
        from serving.generation import EngineThread, Generator  # and with it the libraries of models

        thread = EngineThread(tokens.engine, served.id, partial(self._note_fault, served))
        thread.start()
        watcher = self._metrics.generation.add(served.id, lambda: tokens.engine.load)
        return Generator(served.id, tokens.planner, thread, self._pool, watcher)

    def _note_failure(self, served: ServedModel, error: BaseException, attempt: int) -> bool:
        """Let go of what was loaded; tells whether no further attempt follows."""
        served.loaded = served.text = None
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, golden.GoldenCheckFailed):
            served.golden = error.golden
        is_last = served.golden.status == "failed" or self._is_final(error) or attempt >= self._retries.attempts
        if is_last:
            served.status = Status(State.FAILED, reason)
            _log.error("model %s failed: %s", served.id, reason)
        else:
            wait = self._retries.delay(attempt)
            retry = f"attempt {attempt} of {self._retries.attempts} failed, next in {wait:g} s: {reason}"
            served.status = Status(State.LOADING, retry)
            _log.warning("model %s: %s", served.id, retry, exc_info=error)
        return is_last

    def _note_fault(self, served: ServedModel, fault: DeviceFault) -> None:
        """Take a serving model out and have the process end; before that the fault fails the load."""
        if served.status.is_ready:
            served.status = Status(State.DEGRADED, f"DeviceFault: {fault}")
            _log.critical("the device failed under model %s, the process ends: %s", served.id, fault)
            self._on_device_fault()

    def _report(self, served: ServedModel, state: State, stage: str, done: int, total: int) -> None:
        served.status = Status(state, f"{stage}, {100 * done // total} % done" if total else str(stage))
        self._watcher.stage(served.id, stage, done, total)


def _freeze_heap() -> None:
    """Take what a load left out of later collections: a full one would pause every answer."""
    gc.collect()
    gc.freeze()
