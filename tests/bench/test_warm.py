"""Waiting for buckets that are built beside serving."""

from __future__ import annotations

from typing import Any

import pytest

from bench import warm


class Clock:
    """Time that passes only by sleeping; a bucket comes at each of the instants."""

    def __init__(self, instants: list[float]) -> None:
        self.now = 0.0
        self.instants = instants

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.25)

    def cards(self) -> list[dict[str, Any]]:
        return [{"buckets": sum(instant <= self.now for instant in self.instants)}]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:  # noqa: ARG001 - comes before this one
    monkeypatch.setattr(warm, "LEAST_QUIET", 3.0)


def wait(instants: list[float]) -> float:
    clock = Clock(instants)
    return warm.wait_until_settled(clock, clock, clock.sleep)


def test_a_settled_server_costs_the_least_wait() -> None:
    assert wait([]) == pytest.approx(3.0, abs=0.5)


def test_slow_buckets_are_waited_for() -> None:
    # The pause of 2.5 s is followed by one of 7 s: within three times the longest so far.
    assert wait([2.5, 9.0]) == pytest.approx(9.0 + 3 * 6.5, abs=1.0)


def test_there_is_an_end() -> None:
    assert wait([float(n) for n in range(2000)]) == pytest.approx(warm.MOST_SECONDS, abs=1.0)
