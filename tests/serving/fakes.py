"""Stand-ins for the model side: a clock moved by hand, an engine with gates, a model that counts letters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.config import Bounds, Limits, ModelEntry, Retries
from serving.loaded import LoadedModel, Provenance, Report
from serving.loader import Loader, LoadWatcher
from serving.metrics import Metrics
from serving.models import ModelTable, ServedModel
from serving.received import Endpoint
from serving.schema import Schema
from serving.service import Service, planning_pool
from serving.text_endpoints import TextEndpoint
from vela_jax.contract import (
    Answer,
    Batch,
    InvalidRequest,
    Missing,
    Readout,
    Result,
    Row,
    Surface,
    UnsupportedSurface,
)
from vela_jax.surfaces.card import Description, HeadCard

LENGTHS = (8, 64, 512, 4096, 32768)  # of the fake engine's buckets
PATIENCE = 20.0  # seconds a test waits for something that must happen


def on_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine; fail rather than hang."""

    async def bounded() -> None:
        await asyncio.wait_for(coroutine, PATIENCE)

    asyncio.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    """Give the loop back until another thread has made the condition true."""
    while not condition():
        await asyncio.sleep(0.0005)


def row(length: int, value: int = 1) -> Row:
    """A row of `length` equal ids."""
    return Row(np.full(length, value, np.int32), Readout("sum", 1))


def padded(length: int) -> int:
    """Length of the bucket that holds so many tokens."""
    return next(size for size in LENGTHS if size >= length)


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """Holds each forward until the test lets it pass."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._permits = threading.Semaphore(0)

    def hold(self) -> None:
        """Called by the engine."""
        self._entered.release()
        assert self._permits.acquire(timeout=PATIENCE), "nobody opened the gate"

    async def reached(self) -> None:
        """Wait until a forward stands at the gate."""
        assert await asyncio.to_thread(self._entered.acquire, timeout=PATIENCE), "no forward came"

    def open(self, forwards: int = 1) -> None:
        """Let so many forwards pass."""
        self._permits.release(forwards)


class FakeEngine:
    """Sums each row's ids; a row's output is `[sum, length]`. Notes every forward's row lengths."""

    def __init__(self, *, rows_per_batch: int = 64, gate: Gate | None = None, clock: Clock | None = None) -> None:
        self.rows_per_batch = rows_per_batch
        self.gate = gate
        self.clock = clock
        self.seconds_per_token = 0.0
        self.forwards: list[list[int]] = []
        self.failures: dict[int, BaseException] = {}  # by number of the forward
        self.plan_failure: Exception | None = None
        self.opening: list[Future[None]] = []
        self.most_at_once = 0
        self._at_once = 0

    def prepare(self, rows: Sequence[Row]) -> list[Future[None]]:
        """What the test says must be waited for."""
        return list(self.opening) if rows else []

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """Cut the rows, as they come, into batches of `rows_per_batch`."""
        if self.plan_failure is not None:
            raise self.plan_failure
        cuts = range(0, len(rows), self.rows_per_batch)
        groups = [tuple(range(start, min(start + self.rows_per_batch, len(rows)))) for start in cuts]
        return [
            Batch(group, tuple(range(len(group))), len(group), padded(max(rows[index].length for index in group)), 1)
            for group in groups
        ]

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        """Sum, after the gate."""
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        lengths = [rows[index].length for index in batch.indices]
        self.forwards.append(lengths)
        number = len(self.forwards) - 1
        try:
            if self.gate is not None:
                self.gate.hold()
            if self.clock is not None:
                self.clock.now += self.seconds_per_token * sum(lengths)
            if number in self.failures:
                raise self.failures[number]
            return [np.array([rows[index].ids.sum(), rows[index].length], np.float32) for index in batch.indices]
        finally:
            self._at_once -= 1


@dataclass(frozen=True)
class LettersPlan:
    """One row a non-empty text."""

    texts: list[str]

    @property
    def rows(self) -> list[Row]:
        return [
            Row(np.frombuffer(text.encode("utf-32-le"), np.int32), Readout("sum", 1)) for text in self.texts if text
        ]

    def assemble(self, results: Sequence[Result]) -> Answer:
        left = iter(results)
        items = [self._item(index, next(left) if text else None) for index, text in enumerate(self.texts)]
        outcomes = tuple(("letters", item.get("error", "answered")) for item in items)
        tokens = sum(map(len, self.texts))
        usage = {"input_tokens": tokens, "output_tokens": 0}
        return Answer({"results": items, "usage": usage}, {"head": "default"}, tokens, outcomes)

    def _item(self, index: int, result: Result | None) -> dict[str, Any]:
        if result is None:
            return {"index": index, "error": "invalid_input"}
        if isinstance(result, Missing):
            return {"index": index, "error": "deadline_exceeded"}
        return {"index": index, "sum": float(result[0])}


class LettersModel:
    """Serves classify: the sum of a text's code points."""

    def __init__(self) -> None:
        self.planned_on: list[str] = []
        self.failure: BaseException | None = None

    def plan(self, surface: Surface, request: Any) -> LettersPlan:
        """Refuse a text `refuse`, fail when told to, else plan."""
        self.planned_on.append(threading.current_thread().name)
        if self.failure is not None:
            raise self.failure
        if surface is not Surface.CLASSIFY:
            raise UnsupportedSurface(f"letters are not for {surface}")
        texts = [request.input] if isinstance(request.input, str) else list(request.input)
        if "refuse" in texts:
            raise InvalidRequest("input: 'refuse' is not allowed")
        return LettersPlan(texts)


def describe(**members: Any) -> Description:
    """A description of the letters model."""
    head = HeadCard(name="default", kind="sequence", labels=["a"], inputs=["text"])
    known: dict[str, Any] = {
        "family": "task_heads",
        "surfaces": [Surface.CLASSIFY],
        "limits": {"max_input_tokens": 512, "max_inputs": 2048},
        "parameters": 7,
        "heads": [head],
        "question_types": ["letters"],
    }
    return Description(**known | members)


def load_letters(engine: FakeEngine | None = None, model: LettersModel | None = None, **members: Any) -> LoadedModel:
    """A loaded letters model."""
    provenance = Provenance(
        model_id="letters-base",
        repo="acme/letters",
        revision="a" * 40,
        model_sha256="b" * 64,
        manifest_sha256="c" * 64,
        licence="apache-2.0",
        release_date="2026-03-01",
    )
    known: dict[str, Any] = {
        "model": model or LettersModel(),
        "engine": engine or FakeEngine(),
        "description": describe(),
        "provenance": provenance,
        "accelerator": "cpu",
        "accelerator_validated": True,
        "device": "cpu",
        "engine_name": "jax",
        "engine_args": {"batching": "exact"},
        "numerics": "exact",
        "memory_bytes": 28,
        "warm": lambda report: report("compile", 1, 1),
        "fill": lambda: None,
        "lengths": LENGTHS,
        "buckets": list,
        "compiles": lambda: 0,
        "close": lambda: None,
    }
    return LoadedModel(**known | members)


class Unwatched:
    """Hears nothing of the loads."""

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        """Forget it."""

    def settled(self, served: ServedModel) -> None:
        """Forget it."""


STARTED: list[Process] = []  # ended after each test


@dataclass
class Process:
    """The process side without HTTP: entries, and how each is loaded."""

    entries: Sequence[ModelEntry] = (ModelEntry(model="acme/letters"),)
    load: Callable[[ModelEntry, Report], LoadedModel] = lambda entry, report: load_letters()  # noqa: ARG005
    bounds: Bounds = field(default_factory=Bounds)
    retries: Retries = field(default_factory=lambda: Retries(seconds=0.0))
    watcher: LoadWatcher = field(default_factory=Unwatched)
    schema: Schema = Schema.V5

    def __post_init__(self) -> None:
        self.metrics = Metrics([*(endpoint.path for endpoint in Endpoint), *TextEndpoint])
        self.models = ModelTable([ServedModel(entry) for entry in self.entries])
        self.pool = planning_pool()
        self.device_faults = 0
        self.loader = Loader(
            self.models,
            self.load,
            is_final=lambda error: isinstance(error, LookupError),
            bounds=self.bounds,
            retries=self.retries,
            metrics=self.metrics,
            pool=self.pool,
            watcher=self.watcher,
            on_device_fault=self._count_fault,
        )
        self.service = Service(self.models, self.loader, self.metrics, Limits(), self.schema)
        STARTED.append(self)

    def _count_fault(self) -> None:
        self.device_faults += 1

    def up(self) -> Process:
        """Load every model and wait for it."""
        self.loader.start()
        self.loader.join(PATIENCE)
        assert not self.loader.is_alive
        return self

    def end(self) -> None:
        """Stop the threads."""
        self.loader.stop()
        self.pool.shutdown(wait=False)
        for served in self.models.models:
            if served.live is not None:
                served.live.scheduler.stop(1.0)

    def sample(self, name: str, **labels: str) -> float | None:
        """A value of the metrics, None where the series does not exist."""
        text = self.metrics.render().decode()
        wanted = f"vllm_srun_{name}" + (
            "{" + ",".join(f'{key}="{labels[key]}"' for key in sorted(labels)) + "}" if labels else ""
        )
        return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(wanted + " ")), None)
