"""State of the process from the states of its models (HTTP contract, section 13)."""

from __future__ import annotations

import pytest

from serving.readiness import State, Status, process_status


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("ready", "ready"),
        ("ready ready", "ready"),
        ("starting", "starting"),
        ("loading starting", "starting"),
        ("warming loading", "loading"),
        ("ready warming failed", "warming"),
        ("ready loading degraded", "loading"),
        ("failed", "failed"),
        ("failed failed", "failed"),
        ("ready failed", "degraded"),
        ("degraded", "degraded"),
        ("degraded failed", "degraded"),
        ("ready degraded", "degraded"),
    ],
)
def test_first_matching_rule_gives_the_state(states: str, expected: str) -> None:
    models = [(f"m{index}", Status(State(name), None)) for index, name in enumerate(states.split())]
    assert process_status(models).state == expected


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ([("a", Status(State.READY, None))], None),
        ([("a", Status(State.READY, "kernels unverified"))], None),
        ([("a", Status(State.LOADING, "read: 1 of 2"))], "read: 1 of 2"),
        ([("a", Status(State.READY, None)), ("b", Status(State.FAILED, "no file"))], "b: no file"),
        ([("a", Status()), ("b", Status(State.FAILED, "no file"))], "a: waiting to be loaded"),
    ],
)
def test_reason_is_that_of_the_first_model_that_is_not_ready(
    models: list[tuple[str, Status]], expected: str | None
) -> None:
    assert process_status(models).reason == expected
