"""One row through every engine in turn: milliseconds by length, ratios pair by pair, and the difference of outputs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from bench.figures import Ratio, in_turns, paired_ratio
from bench.peers.runner import Input, Runner, RunnerOf

SAMPLE_SECONDS: Final = 0.1  # least time of one sample: short forwards are called several times
MOST_CALLS: Final = 50  # of one sample
REST_SECONDS: Final = 0.02  # between engines, so that threads of the last one come to rest
LEAST_ROUNDS: Final = 3
SPECIAL_IDS: Final = 5  # ids that tokenizers keep for special tokens

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class LengthResult:
    """What one length gave: milliseconds of a row by engine, one a round, and the largest difference from ours."""

    length: int
    milliseconds: dict[str, list[float]]
    differences: dict[str, float]

    def median(self, name: str) -> float:
        """Median milliseconds of an engine."""
        return median(self.milliseconds[name])

    def ratio(self, name: str, ours: str) -> Ratio:
        """How many times as long as ours an engine takes."""
        return paired_ratio(self.milliseconds[name], self.milliseconds[ours])


def compare(
    runners: Sequence[Runner], length: int, vocab_size: int, *, rounds: int, budget: float, clock: Clock
) -> LengthResult:
    """Run one random row of `length` tokens through the runners; the first is ours.

    `rounds` are lessened, to no less than 3, where they would take more than `budget` seconds.
    """
    source = np.random.default_rng(length)
    lowest = min(SPECIAL_IDS, vocab_size - 1)
    ids = source.integers(lowest, vocab_size, length, dtype=np.int32)
    return compare_on(ids, runners, length, rounds=rounds, budget=budget, clock=clock)


def compare_on(
    given: Input, runners: Sequence[RunnerOf[Input]], length: int, *, rounds: int, budget: float, clock: Clock
) -> LengthResult:
    """Run one row of `length` tokens, whatever its form, through the runners; else as `compare`."""
    by_name = {runner.name: runner for runner in runners}
    vectors, calls, expected = {}, {}, 0.0
    for name, runner in by_name.items():
        runner.prepare(length)
        vectors[name] = runner(given).copy()
        once = _time(runner, given, 1, clock)
        calls[name] = max(1, min(MOST_CALLS, math.ceil(SAMPLE_SECONDS / max(once, 1e-6))))
        expected += once * calls[name] + REST_SECONDS
    found: dict[str, list[float]] = {name: [] for name in by_name}
    for number in range(max(LEAST_ROUNDS, min(rounds, int(budget / expected)))):
        for name in in_turns(list(by_name), number):
            time.sleep(REST_SECONDS)
            found[name].append(1000 * _time(by_name[name], given, calls[name], clock))
    ours = vectors[runners[0].name]
    differences = {name: float(np.abs(vector - ours).max()) for name, vector in vectors.items()}
    return LengthResult(length, found, differences)


def _time(runner: RunnerOf[Input], given: Input, calls: int, clock: Clock) -> float:
    """Seconds of the median call."""
    seconds = []
    for _ in range(calls):
        begun = clock()
        runner(given)
        seconds.append(clock() - begun)
    return median(seconds)
