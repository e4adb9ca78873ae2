"""Which span head reads a question, rule by rule."""

from dataclasses import replace
from typing import Any

import pytest

from tests.families.vela2.toy import CALIBRATION
from vela_jax.families.vela2.calibration import BroadHead, Calibration
from vela_jax.families.vela2.decoder_dispatch import Dispatch, dispatch
from vela_jax.families.vela2.questions import Asked

BROAD = BroadHead(0.8, 0.55, (frozenset({"left", "right"}),))
WITH = replace(CALIBRATION, broad=BROAD)
DEFAULTS = replace(CALIBRATION, broad=replace(BROAD, router_label_sets=None))


def span(*names: str, **changes: Any) -> Asked:
    options = tuple((name, "d") for name in names)
    return Asked(
        **{"id": "q", "kind": "span", "text": "t", "options": options, "roles": ("user",), "key": "q", **changes}
    )


@pytest.mark.parametrize(
    ("asked", "calibration", "head"),
    [
        (span("x"), WITH, "broad"),
        (span("x", head="router"), WITH, "router"),
        (span("AGE", head="broad"), WITH, "broad"),
        (span("x", key="pii"), WITH, "router"),
        (span("x", key="halu"), WITH, "router"),
        (span("x", key="toxic"), WITH, "router"),
        (span("right", "left"), WITH, "router"),
        (span("left"), WITH, "broad"),
        (span("AGE", "PERSON"), WITH, "router"),
        (span("AGE", "x"), WITH, "broad"),
        (span("AGE", "EMAIL_ADDRESS", "PERSON"), DEFAULTS, "router"),
        (span("left", "right"), DEFAULTS, "broad"),
        *((span(name), WITH, "router") for name in ("unsupported", "Hallucinated Span", "not-supported", "FABRICATED")),
        (span("fabricated", "x"), WITH, "broad"),
    ],
)
def test_head(asked: Asked, calibration: Calibration, head: str) -> None:
    assert dispatch(asked, calibration, has_broad=True).head == head


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        (span("Hallucinated"), (("unsupported", "no support"),)),
        (span("unsupported"), (("unsupported", "d"),)),
        (span("Hallucinated", head="broad"), (("Hallucinated", "d"),)),
        (span("AGE"), (("AGE", "d"),)),
    ],
)
def test_labels(asked: Asked, labels: tuple[tuple[str, str], ...]) -> None:
    assert dispatch(asked, WITH, has_broad=True).labels == labels


def test_an_alias_without_a_schema() -> None:
    bare = replace(WITH, span_presets={})
    shown = dispatch(span("fabrication"), bare, has_broad=True).labels
    assert shown == (("unsupported", "a claim not supported by the context"),)


def test_a_model_with_one_head_shows_labels_as_they_are() -> None:
    asked = span("Hallucinated")
    assert dispatch(asked, WITH, has_broad=False) == Dispatch("router", asked.options)
