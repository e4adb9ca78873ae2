"""Which span head of a decoder reads a question, and how its labels are shown (Vela 2.0 format, section 7.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from vela_jax.families.vela2.answers import BROAD
from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.questions import Asked, Options

ROUTER: Final = "router"
_ROUTER_KEYS: Final = frozenset({"pii", "halu", "toxic"})
_UNSUPPORTED: Final = "unsupported"
_UNSUPPORTED_TEXT: Final = "a claim not supported by the context"
_ALIASES: Final = frozenset(
    {
        _UNSUPPORTED,
        "unsupportedclaim",
        "hallucinated",
        "hallucination",
        "hallucinatedspan",
        "notsupported",
        "unsupportedspan",
        "fabricated",
        "fabrication",
    }
)
_JOINTS: Final = re.compile(r"[\s_-]")


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The head of a span question, and its labels as the model is shown them."""

    head: str
    labels: Options


def dispatch(asked: Asked, calibration: Calibration, *, has_broad: bool) -> Dispatch:
    """The head of a span question. A model without a broad head shows the labels as they are."""
    if not has_broad:
        return Dispatch(ROUTER, asked.options)
    names = frozenset(name for name, _ in asked.options)
    head = asked.head or _head(asked, names, calibration)
    if head == ROUTER and _is_alias(names) and names != {_UNSUPPORTED}:
        halu = calibration.span_presets.get("halu")
        shown = dict(halu.labels).get(_UNSUPPORTED) if halu else None
        return Dispatch(ROUTER, ((_UNSUPPORTED, shown if isinstance(shown, str) else _UNSUPPORTED_TEXT),))
    return Dispatch(head, asked.options)


def _head(asked: Asked, names: frozenset[str], calibration: Calibration) -> str:
    routed = asked.key in _ROUTER_KEYS or names in _router_sets(calibration)
    return ROUTER if routed or names <= calibration.pii_types or _is_alias(names) else BROAD


def _router_sets(calibration: Calibration) -> tuple[frozenset[str], ...]:
    """Label sets that the router was trained on."""
    broad = calibration.broad
    if broad is not None and broad.router_label_sets is not None:
        return broad.router_label_sets
    halu = calibration.span_presets.get("halu")
    return (calibration.pii_types, *([frozenset(name for name, _ in halu.labels)] if halu else []))


def _is_alias(names: frozenset[str]) -> bool:
    """Whether the only label means what the source does not support."""
    return len(names) == 1 and _JOINTS.sub("", next(iter(names)).lower()) in _ALIASES
