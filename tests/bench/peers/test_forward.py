"""Forwards in turns, with runners and a clock that are made up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from bench.peers import forward
from bench.peers.forward import LengthResult, compare
from bench.peers.runner import Ids, Vector


@dataclass
class Clock:
    """Time that passes only while a runner works."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Fake:
    """Takes so many seconds a call and gives the mean of the ids plus its error."""

    name: str
    clock: Clock
    seconds: float
    error: float = 0.0
    prepared: list[int] = field(default_factory=list)
    calls: int = 0

    def prepare(self, length: int) -> None:
        self.prepared.append(length)

    def __call__(self, ids: Ids) -> Vector:
        self.calls += 1
        self.clock.now += self.seconds
        return np.array([ids.mean() + self.error], np.float32)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _restless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "REST_SECONDS", 0.0)


def run(clock: Clock, *runners: Fake, rounds: int = 5, budget: float = 100.0) -> LengthResult:
    return compare(runners, 16, 8192, rounds=rounds, budget=budget, clock=clock)


def test_ratios_are_times_of_a_peer_over_ours() -> None:
    clock = Clock()
    ours, peer = Fake("ours", clock, 0.010), Fake("peer", clock, 0.025, error=0.5)
    result = run(clock, ours, peer)
    assert result.median("ours") == pytest.approx(10.0)
    assert result.ratio("peer", "ours").median == pytest.approx(2.5)
    assert result.differences["ours"] == 0.0
    assert result.differences["peer"] == pytest.approx(0.5, rel=1e-3)
    assert ours.prepared == peer.prepared == [16]
    assert len(result.milliseconds["peer"]) == 5


def test_short_forwards_are_called_several_times_a_sample() -> None:
    clock = Clock()
    quick, slow = Fake("quick", clock, 0.04), Fake("slow", clock, 0.5)
    run(clock, quick, slow, rounds=3)
    assert quick.calls == 2 + 3 * 3
    assert slow.calls == 2 + 3 * 1


@pytest.mark.parametrize(("budget", "rounds"), [(100.0, 5), (8.0, 4), (1.0, 3)])
def test_rounds_are_lessened_by_the_budget(budget: float, rounds: int) -> None:
    clock = Clock()
    result = run(clock, Fake("a", clock, 1.0), Fake("b", clock, 1.0), budget=budget)
    assert len(result.milliseconds["a"]) == rounds
