"""What `/metrics` says of generators: times of tokens, what waits and runs, and how the cache is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from vela_jax.generation.engine import Load


SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48)
_GAUGES: Final = (
    ("running_sequences", "Sequences that hold pages of the cache.", "running"),
    ("waiting_sequences", "Sequences that wait for a seat or for pages.", "waiting"),
    ("cache_pages_used", "Pages of the cache that sequences hold.", "pages_used"),
    ("cache_pages", "Pages of the cache.", "pages"),
)
_COUNTERS: Final = (
    ("preemptions", "Sequences that gave up their pages for others.", "preemptions"),
    ("prompt_tokens", "Tokens of prompts that were started.", "prompt_tokens"),
    ("cached_prompt_tokens", "Tokens of prompts whose keys were known.", "cached_tokens"),
)


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """Counts the times of one generator's tokens."""

    first: Histogram
    further: Histogram

    def first_token(self, seconds: float) -> None:
        """A sequence got its first token so long after it was submitted."""
        self.first.observe(seconds)

    def next_token(self, seconds: float) -> None:
        """A sequence got a further token so long after the one before."""
        self.further.observe(seconds)


class GenerationMetrics(Collector):
    """The series of all generators on one registry, where there are any; the loads are asked for at every scrape."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._loads: dict[str, Callable[[], Load]] = {}
        self._histograms: tuple[Histogram, Histogram] | None = None

    def add(self, model: str, load: Callable[[], Load]) -> TokenTimes:
        """Show a generator; gives what counts the times of its tokens."""
        self._loads[model] = load
        if self._histograms is None:
            first, further = "time_to_first_token_seconds", "inter_token_seconds"
            self._histograms = (
                _histogram(self._registry, first, "Seconds from a sequence's arrival to its first token."),
                _histogram(self._registry, further, "Seconds between two tokens of a sequence."),
            )
            self._registry.register(self)
        first_token, next_token = self._histograms
        return TokenTimes(first_token.labels(model), next_token.labels(model))

    def collect(self) -> Iterator[Metric]:
        """Give the series of what the engines hold."""
        loads = {model: load() for model, load in self._loads.copy().items()}
        for name, text, member in _GAUGES:
            gauge = GaugeMetricFamily(f"vllm_srun_{name}", text, labels=["model"])
            for model, load in loads.items():
                gauge.add_metric([model], getattr(load, member))
            yield gauge
        for name, text, member in _COUNTERS:
            counter = CounterMetricFamily(f"vllm_srun_{name}", text, labels=["model"])
            for model, load in loads.items():
                counter.add_metric([model], getattr(load, member))
            yield counter


def _histogram(registry: CollectorRegistry, name: str, text: str) -> Histogram:
    return Histogram(f"vllm_srun_{name}", text, ["model"], registry=registry, buckets=SECONDS)
