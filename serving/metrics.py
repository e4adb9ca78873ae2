"""Counters of the process in the Prometheus text format (HTTP contract, section 14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from serving.generation_metrics import GenerationMetrics
from serving.scheduler import Events, Forward
from vela_jax.contract import ItemError

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12)
ROWS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TOKENS: Final = (64, 256, 1024, 4096, 16384, 65536, 262144)
STATUSES: Final = (200, 400, 404, 413, 415, 422, 429, 499, 500, 503)
"""Statuses of a single surface: their series stand at 0 from the start."""
OUTCOMES: Final = ("answered", *ItemError)
OTHER_TYPE: Final = "other"
"""Label of a question whose type is not one that its model serves: a client's own words never become a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """Labels of `model_info`."""

    model: str
    revision: str | None
    family: str
    engine: str
    accelerator: str
    device: str
    profile: str = "exact"


class Metrics:
    """All counters, on a registry of their own. Safe for threads.

    Series exist from the start: those of the endpoints when the object is made, those of a model from
    `add_model` on. Nothing a client sends makes a new one.
    """

    def __init__(self, endpoints: Sequence[str]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the series
        self._registry = CollectorRegistry()
        self._question_types: set[str] = set()
        self._endpoints = frozenset(endpoints)
        self._make_request_metrics(endpoints)
        self._make_work_metrics()
        self._make_model_metrics()
        self.generation = GenerationMetrics(self._registry)

    def _make_request_metrics(self, endpoints: Iterable[str]) -> None:
        self._requests = self._counter("requests", "Calls of the POST surfaces.", "endpoint", "status")
        self._durations = self._histogram("request_duration_seconds", "Seconds of a call.", SECONDS, "endpoint")
        for endpoint in endpoints:
            self._durations.labels(endpoint)
            for status in STATUSES:
                self._requests.labels(endpoint, status)
        self._questions = self._counter("questions", "Questions by type and outcome.", "type", "outcome")
        self._add_question_types([OTHER_TYPE])
        self._input_tokens = self._counter("input_tokens", "Planned tokens of answered requests.")
        self._bundle_tasks = self._histogram("bundle_tasks", "Tasks of a bundle.", ROWS)

    def _make_work_metrics(self) -> None:
        self._waits = self._histogram("queue_duration_seconds", "Seconds until a job's first forward.", SECONDS)
        self._forwards = self._histogram("forward_duration_seconds", "Seconds of a forward.", SECONDS)
        self._batch_rows = self._histogram("batch_rows", "Items of a forward.", ROWS)
        self._batch_tokens = self._histogram("batch_tokens", "Unpadded tokens of a forward.", TOKENS)
        self._dropped = self._counter("deadline_dropped_questions", "Items whose deadline passed in the queue.")
        self._depth = self._gauge("queue_depth", "Queued jobs and planned batches.")
        self._ready = self._gauge("ready", "1 when every model is ready.")

    def _make_model_metrics(self) -> None:
        self._tokens = self._counter("bucket_tokens", "Tokens that forwards read, by length bucket.", "model", "length")
        self._padding = self._counter("padding_tokens", "Positions without a token, by length.", "model", "length")
        self._compiles = _Compiles()
        self._registry.register(self._compiles)
        self._cache = self._counter("result_cache", "Rows looked up among kept results.", "model", "outcome")
        self._memory = self._gauge("model_memory_bytes", "Bytes of a model's weights.", "model")
        self._info = self._gauge(
            "model_info", "Served models.", "model", "revision", "family", "engine", "accelerator", "device", "profile"
        )

    def watch(self, *, depth: Callable[[], int], ready: Callable[[], bool]) -> None:
        """Ask for these at every scrape."""
        self._depth.set_function(depth)
        self._ready.set_function(ready)

    def add_model(self, model: str) -> None:
        """Make the series of a model; its memory is 0 until it is loaded."""
        self._memory.labels(model)
        for outcome in ("hit", "miss"):
            self._cache.labels(model, outcome)

    def rename_model(self, old: str, new: str) -> None:
        """Give the series of a model that was not ready yet the name that its package brought."""
        if old != new:
            self._memory.remove(old)
            for outcome in ("hit", "miss"):
                self._cache.remove(old, outcome)
            self.add_model(new)

    def model_loaded(self, info: ModelInfo, memory_bytes: int, question_types: Iterable[str] = ()) -> None:
        """Note what a model that became ready is and takes."""
        self._memory.labels(info.model).set(memory_bytes)
        revision = info.revision or "local"
        labels = (info.model, revision, info.family, info.engine, info.accelerator, info.device, info.profile)
        self._info.labels(*labels).set(1)
        self._add_question_types(question_types)

    def request_done(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one call of a POST surface, 499 for a client that left. Unknown endpoints are not counted."""
        if endpoint in self._endpoints:
            self._requests.labels(endpoint, status).inc()
            self._durations.labels(endpoint).observe(seconds)

    def bundle_came(self, tasks: int) -> None:
        """Count the tasks of a bundle."""
        self._bundle_tasks.observe(tasks)

    def answered(self, input_tokens: int, questions: Iterable[tuple[str, str]]) -> None:
        """Count the tokens and the questions (type, outcome) of an answered request."""
        self._input_tokens.inc(input_tokens)
        for question_type, outcome in questions:
            known = question_type if question_type in self._question_types else OTHER_TYPE
            self._questions.labels(known, outcome).inc()

    def cache_looked_up(self, model: str, hits: int, misses: int) -> None:
        """Count rows that were looked up among a model's kept results."""
        self._cache.labels(model, "hit").inc(hits)
        self._cache.labels(model, "miss").inc(misses)

    def observe_model(self, model: str, lengths: Iterable[int], compiles: Callable[[], int]) -> Events:
        """Give what counts a model's work; `lengths` are those of its buckets, `compiles` is asked at every scrape."""
        self._compiles.sources[model] = compiles
        buckets = {
            length: _Bucket(self._tokens.labels(model, length), self._padding.labels(model, length))
            for length in lengths
        }
        return _ModelWork(self._waits, self._forwards, self._batch_rows, self._batch_tokens, self._dropped, buckets)

    def render(self) -> bytes:
        """Give the exposition text, version 0.0.4."""
        return generate_latest(self._registry)

    def _add_question_types(self, types: Iterable[str]) -> None:
        self._question_types.update(types)
        for question_type in self._question_types:
            for outcome in OUTCOMES:
                self._questions.labels(question_type, outcome)

    def _counter(self, name: str, text: str, *label_names: str) -> Counter:
        return Counter(f"vllm_srun_{name}", text, label_names, registry=self._registry)

    def _gauge(self, name: str, text: str, *label_names: str) -> Gauge:
        return Gauge(f"vllm_srun_{name}", text, label_names, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *label_names: str) -> Histogram:
        return Histogram(f"vllm_srun_{name}", text, label_names, registry=self._registry, buckets=buckets)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """Counters of one length bucket of a model."""

    tokens: Counter
    padding: Counter


@dataclass(frozen=True, slots=True)
class _ModelWork:
    """Counts the work of one model."""

    waits: Histogram
    forwards: Histogram
    batch_rows: Histogram
    batch_tokens: Histogram
    dropped: Counter
    buckets: Mapping[int, _Bucket]

    def job_started(self, waited: float) -> None:
        """Count a job's wait for its first forward, in seconds."""
        self.waits.observe(waited)

    def forward_done(self, forward: Forward) -> None:
        """Count a forward."""
        self.forwards.observe(forward.seconds)
        self.batch_rows.observe(forward.rows)
        self.batch_tokens.observe(forward.tokens)
        bucket = self.buckets[forward.length]
        bucket.tokens.inc(forward.tokens)
        bucket.padding.inc(forward.padding)

    def rows_expired(self, rows: int) -> None:
        """Count items that passed their deadline unanswered."""
        self.dropped.inc(rows)


class _Compiles(Collector):
    """Executables of each loaded model, asked for at every scrape."""

    def __init__(self) -> None:
        self.sources: dict[str, Callable[[], int]] = {}

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Give one sample a model."""
        family = CounterMetricFamily(
            "vllm_srun_compiles", "Executables compiled or loaded from disk.", labels=["model"]
        )
        for model, compiles in self.sources.copy().items():
            family.add_metric([model], compiles())
        yield family
