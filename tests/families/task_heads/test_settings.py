"""Options of classify against a head's own policy."""

from typing import Any

import pytest

from tests.families.task_heads import models
from vela_jax.contract import InvalidRequest, Surface
from vela_jax.families.task_heads.settings import settle
from vela_jax.families.task_heads.spec import ClassifierSpec, Kind, OperatingPoint
from vela_jax.heads.pooling import Pooling
from vela_jax.surfaces.requests import ClassifyOptions, Window

PLAIN = ClassifierSpec(Kind.SEQUENCE, ("a", "b"), Pooling.CLS, models.head_config(2))
WINDOWED = ClassifierSpec(
    Kind.SCORES,
    ("a",),
    Pooling.MEAN,
    models.head_config(1),
    operating_point=OperatingPoint((0.5,), strict=False, window=(40, 11), max_document_tokens=300, sha256=""),
)
LIMIT = 384


def test_a_plain_head_rejects_at_the_models_limit() -> None:
    settings = settle(ClassifyOptions(), PLAIN, LIMIT)
    assert (settings.budget, settings.overflow, settings.threshold) == (LIMIT, "reject", None)


@pytest.mark.parametrize("overflow", [None, ""])
def test_a_windowed_operating_point_sets_the_defaults(overflow: str | None) -> None:
    settings = settle(ClassifyOptions(overflow=overflow), WINDOWED, LIMIT)
    assert (settings.budget, settings.overflow, settings.window) == (300, "window", (40, 11))


def test_options_replace_the_defaults() -> None:
    options = ClassifyOptions(
        overflow="window", window=Window(50, 3), max_tokens=60, threshold=0.25, return_tokens=True
    )
    settings = settle(options, WINDOWED, LIMIT)
    assert (settings.budget, settings.window, settings.threshold, settings.return_tokens) == (60, (50, 3), 0.25, True)


def test_a_document_limit_above_the_models_own_has_no_effect() -> None:
    assert settle(ClassifyOptions(), WINDOWED, 100).budget == 100


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"overflow": "sideways"}, r"overflow must be one of \['reject', 'truncate', 'window'\], got 'sideways'"),
        ({"overflow": "window"}, "window is required"),
        ({"overflow": "window", "window": Window(385)}, "window.tokens must be at most 384, got 385"),
        ({"overflow": "window", "window": Window(32), "max_tokens": 20}, "at most max_tokens, 20, got 32"),
        ({"overflow": "window", "window": Window(32, -1)}, "overlap must be at least 0, got -1"),
        ({"max_tokens": 0}, "max_tokens must be 1 to 384, got 0"),
        ({"max_tokens": 385}, "max_tokens must be 1 to 384, got 385"),
        ({"threshold": 1.01}, "threshold must be 0 to 1, got 1.01"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
    ],
)
def test_bad_options_name_what_is_allowed(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        settle(ClassifyOptions(**options), PLAIN, LIMIT)


def test_the_heads_own_window_is_held_to_the_budget() -> None:
    with pytest.raises(InvalidRequest, match="at most max_tokens, 39, got 40"):
        settle(ClassifyOptions(max_tokens=39), WINDOWED, LIMIT)


def test_a_window_without_window_overflow_is_ignored() -> None:
    assert settle(ClassifyOptions(window=Window(9999, -1)), PLAIN, LIMIT).overflow == "reject"


def test_a_grounded_head_reads_no_windows() -> None:
    body = {"input": {"answer": "a"}, "options": {"overflow": "window", "window": {"tokens": 8}}}
    with pytest.raises(InvalidRequest, match="grounded"):
        models.plan(models.grounded(), Surface.CLASSIFY, body)
