"""A scheduler whose time and forwards a test moves by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from serving.scheduler import Scheduler
from tests.serving.fakes import Clock, FakeEngine, Gate
from vela_jax.contract import DeviceFault


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(gate: Gate, clock: Clock) -> FakeEngine:
    """An engine of one row a forward that waits at the gate."""
    return FakeEngine(rows_per_batch=1, gate=gate, clock=clock)


@pytest.fixture
def faults() -> list[DeviceFault]:
    """What the scheduler said of its device."""
    return []


@pytest.fixture
def scheduler(engine: FakeEngine, clock: Clock, gate: Gate, faults: list[DeviceFault]) -> Iterator[Scheduler]:
    made = Scheduler(engine, max_jobs=256, max_tokens=1 << 22, clock=clock, on_fault=faults.append)
    made.start()
    yield made
    gate.open(10_000)
    assert made.stop()
