"""Tolerances by device class, and differences by key."""

from __future__ import annotations

import pytest

from checkpoints.golden import Expected
from serving.golden.verdict import find_difference, tolerance_of

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("device_class", "own", "tolerance"),
    [
        ("cpu", {}, 1e-3),
        ("rocm", {}, 0.02),
        ("cuda", {}, 0.02),
        ("npu", {}, 0.02),
        ("tpu", {}, 0.02),
        ("cpu", {"mps": 0.5}, 1e-3),
        ("cpu", {"cpu": 1e-5}, 1e-5),
        ("cpu", {"cpu": 0.5}, 1e-3),
        ("cuda", {"cuda": 0.5}, 0.02),
        ("cpu", {"cpu": -1.0}, None),
        ("mps", {"mps": 0.002}, 0.002),
        ("mps", {"mps": 1}, 1.0),
        ("mps", {"mps": 0}, 0.0),
        ("mps", {}, None),
        ("mps", {"cpu": 0.002}, None),
        ("mps", {"mps": None}, None),
        ("mps", {"mps": -0.002}, None),
        ("mps", {"mps": NAN}, None),
        ("mps", {"mps": INFINITY}, None),
        ("mps", {"mps": True}, None),
        ("mps", {"mps": "0.002"}, None),
    ],
)
def test_tolerances(device_class: str, own: dict[str, object], tolerance: float | None) -> None:
    assert tolerance_of(device_class, own) == tolerance


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        ({}, {}, None),
        ({"a": 0.5005}, {"a": 0.5}, None),
        ({"a": 0.5, "b": 0.1}, {"b": 0.1, "a": 0.5}, None),
        ({"a": 0.5, "b": 0.102}, {"a": 0.5, "b": 0.1}, "b is 0.102, expected 0.1 within 0.001"),
        ({"a": NAN}, {"a": 0.5}, "a is nan, expected 0.5 within 0.001"),
        ({}, {"a": 0.5}, "a is missing, expected 0.5"),
        ({"a": 0.5, "b": 0.0}, {"a": 0.5}, "b is 0, expected no such value"),
        ({"0.span.0.GPE.1.2": 0.5}, {"0.span.0.GPE.1.3": 0.5}, "0.span.0.GPE.1.3 is missing, expected 0.5"),
        ({"q.noul": 0.5}, {"q.choice.a": 0.5}, "q.choice.a is missing, expected 0.5"),
    ],
)
def test_differences(found: dict[str, float], expected: dict[str, float], difference: str | None) -> None:
    assert find_difference(found, Expected(expected), 1e-3) == difference


@pytest.mark.parametrize(
    ("found", "difference"),
    [
        ({"a": 0.5, "b": 0.9}, None),
        ({"a": 0.6, "b": 0.9}, "a is 0.6, expected 0.5 within 0.001"),
        ({"b": 0.9}, "a is missing, expected 0.5"),
    ],
)
def test_a_partial_recording_says_nothing_of_other_keys(found: dict[str, float], difference: str | None) -> None:
    assert find_difference(found, Expected({"a": 0.5}, is_partial=True), 1e-3) == difference
