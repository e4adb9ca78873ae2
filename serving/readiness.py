"""States of a model and of the process, and what `/health` says of them (HTTP contract, section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """States of a model; the first three follow each other while it loads."""

    STARTING = "starting"
    LOADING = "loading"
    WARMING = "warming"
    READY = "ready"
    FAILED = "failed"
    DEGRADED = "degraded"


COMING_UP = (State.STARTING, State.LOADING, State.WARMING)


@dataclass(frozen=True, slots=True)
class Status:
    """State of a model and why: the stage of its load, or its error."""

    state: State = State.STARTING
    reason: str | None = "waiting to be loaded"

    @property
    def is_ready(self) -> bool:
        """Whether the model answers requests."""
        return self.state is State.READY


def process_status(models: Sequence[tuple[str, Status]]) -> Status:
    """Sum up the labelled models: state by the first rule that holds, reason of the first that is not ready."""
    return Status(_process_state([status.state for _, status in models]), _process_reason(models))


def _process_state(states: Sequence[State]) -> State:
    if all(state is State.READY for state in states):
        return State.READY
    for state in COMING_UP:
        if state in states:
            return state
    return State.FAILED if all(state is State.FAILED for state in states) else State.DEGRADED


def _process_reason(models: Sequence[tuple[str, Status]]) -> str | None:
    for label, status in models:
        if not status.is_ready:
            return f"{label}: {status.reason}" if len(models) > 1 else status.reason
    return None
