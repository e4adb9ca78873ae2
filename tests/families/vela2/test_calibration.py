"""Thresholds and the further fit of nouls."""

from dataclasses import replace

import pytest

from tests.families.vela2.toy import CALIBRATION
from vela_jax.families.vela2.calibration import Anchor, NoulFit, SparseGate

PII = frozenset({"AGE"})
PLAIN = replace(CALIBRATION, gate=None)


@pytest.mark.parametrize(
    ("tokens", "threshold"),
    [
        (0, 0.75),
        (5, 0.75),
        (21, 0.75),
        (51, 0.19617568619126),
        (126, 0.05),
        (500, 0.01226745069890),
        (1022, 0.005919),
        (10**6, 0.005919),
    ],
)
def test_the_length_rule(tokens: int, threshold: float) -> None:
    assert PLAIN.span_threshold("pii", frozenset(), tokens, None) == pytest.approx(threshold, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "labels", "threshold"),
    [
        ("q", frozenset({"x"}), 0.5),
        ("toxic", frozenset({"x"}), 0.1),
        ("halu", frozenset({"unsupported"}), 0.55),
        ("halu", PII, 0.75),
        ("q", PII, 0.75),
        ("q", PII | {"x"}, 0.5),
        ("q", frozenset(), 0.5),
    ],
)
def test_which_threshold_a_span_has(key: str, labels: frozenset[str], threshold: float) -> None:
    assert PLAIN.span_threshold(key, labels, 5, None) == pytest.approx(threshold)


@pytest.mark.parametrize(("tokens", "threshold"), [(40, 0.6), (41, 0.25), (200, 0.25), (201, 0.5)])
def test_buckets_stand_in_for_the_rule(tokens: int, threshold: float) -> None:
    bucketed = replace(PLAIN, length_rule=(), buckets=(Anchor(40, 0.6), Anchor(200, 0.25)))
    assert bucketed.span_threshold("pii", frozenset(), tokens, None) == threshold


@pytest.mark.parametrize(
    ("gate", "tokens", "count", "threshold"),
    [
        (SparseGate(3, 0.1, 0.5), 1022, 3, 0.1),
        (SparseGate(3, 0.1, 0.5), 1022, 4, 0.005919),
        (SparseGate(3, 0.1, 0.5), 1022, None, 0.005919),
        (SparseGate(3, 0.1, 0.5), 21, 0, 0.75),
        (SparseGate(-1, 0.1, 0.5), 1022, 0, 0.005919),
    ],
)
def test_the_sparse_gate(gate: SparseGate, tokens: int, count: int | None, threshold: float) -> None:
    seen: list[float] = []

    def counting(probe: float) -> int:
        seen.append(probe)
        return count or 0

    found = replace(CALIBRATION, gate=gate).span_threshold(
        "pii", frozenset(), tokens, None if count is None else counting
    )
    assert found == pytest.approx(threshold)
    assert seen in ([], [0.5])


@pytest.mark.parametrize(("key", "threshold"), [("own", 0.6), ("q", 0.3)])
def test_set_thresholds(key: str, threshold: float) -> None:
    assert CALIBRATION.set_threshold(key) == threshold


def test_nouls_may_be_fitted_further() -> None:
    fit = NoulFit(2.0, 0.25, default=False)
    assert fit.apply(0.7) == pytest.approx(0.66231973359377, rel=1e-12)
    assert 0 < fit.apply(0.0) < fit.apply(1.0) < 1


def test_presets_in_the_order_of_the_card() -> None:
    assert CALIBRATION.presets == ("pii", "halu", "relevance")
    assert CALIBRATION.temperature_of("unknown") == 1.0
