"""What `calibration.json` says, and the rules that use it: temperatures, thresholds, presets.

(Vela 2.0 format, sections 2.2, 8.2 and 8.5.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from vela_jax.systemone.questions import Described

PII: Final = "pii"
_LEAST: Final = 1e-12  # of a probability before its logit


@dataclass(frozen=True, slots=True)
class SpanSchema:
    """A span preset: its instructions and labels."""

    text: str
    labels: Described


@dataclass(frozen=True, slots=True)
class LevelSchema:
    """A score preset: its instructions, and levels as (name, description)."""

    text: str
    levels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A threshold of the length rule."""

    tokens: int
    threshold: float


@dataclass(frozen=True, slots=True)
class SparseGate:
    """A higher threshold for texts in which the probe's threshold finds at most `most_spans` spans; negative: off."""

    most_spans: int
    threshold: float
    probe: float


@dataclass(frozen=True, slots=True)
class NoulFit:
    """A further fit of a noul's probability."""

    temperature: float
    bias: float
    default: bool

    def apply(self, probability: float) -> float:
        """sigmoid(logit(p) / T + b)."""
        held = min(max(probability, _LEAST), 1 - _LEAST)
        return 1 / (1 + math.exp(-(math.log(held / (1 - held)) / self.temperature + self.bias)))


@dataclass(frozen=True, slots=True)
class BroadHead:
    """The second span head of a decoder. `router_label_sets` stay with the first; None: those of the presets."""

    temperature: float
    threshold: float
    router_label_sets: tuple[frozenset[str], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The file, read."""

    temperature: Mapping[str, float]  # by engine type; absent ones are 1
    thresholds: Mapping[str, float]  # `set:*`, `span:*`, and those of a key
    pii_types: frozenset[str] = frozenset()
    length_rule: tuple[Anchor, ...] = ()  # ascending; empty where there is none
    buckets: tuple[Anchor, ...] = ()  # threshold of texts up to so many tokens
    gate: SparseGate | None = None
    span_presets: Mapping[str, SpanSchema]
    level_presets: Mapping[str, LevelSchema]
    noul: NoulFit | None = None
    broad: BroadHead | None = None

    @property
    def presets(self) -> tuple[str, ...]:
        """Names of the presets, as the card lists them."""
        return (*self.span_presets, *self.level_presets)

    def temperature_of(self, kind: str) -> float:
        """The temperature of an engine type."""
        return self.temperature.get(kind, 1.0)

    def set_threshold(self, key: str) -> float:
        """The threshold of a Set of a calibration key."""
        return self.thresholds.get(f"set:{key}", self.thresholds["set:*"])

    def span_threshold(
        self, key: str, labels: frozenset[str], tokens: int, count: Callable[[float], int] | None
    ) -> float:
        """The threshold of a Span of a calibration key over a part of `tokens` tokens.

        `count(threshold)` says how many spans a threshold gives; None where the text has no words.
        """
        if key == PII or (labels and labels <= self.pii_types):
            found = self._pii_threshold(tokens)
            if found is not None:
                return self._gated(found, count)
        return self.thresholds.get(f"span:{key}", self.thresholds["span:*"])

    def _pii_threshold(self, tokens: int) -> float | None:
        if self.length_rule:
            return _interpolate(self.length_rule, tokens)
        return next((bucket.threshold for bucket in self.buckets if tokens <= bucket.tokens), None)

    def _gated(self, threshold: float, count: Callable[[float], int] | None) -> float:
        gate = self.gate
        if count is None or gate is None or gate.most_spans < 0 or threshold >= gate.threshold:
            return threshold
        return gate.threshold if count(gate.probe) <= gate.most_spans else threshold


def _interpolate(anchors: tuple[Anchor, ...], tokens: int) -> float:
    """Linear in the logarithms of both; constant outside the anchors."""
    place = math.log(max(tokens, 1))
    points = [(math.log(anchor.tokens), math.log(anchor.threshold)) for anchor in anchors]
    if place <= points[0][0]:
        return anchors[0].threshold
    for (low, at_low), (high, at_high) in pairwise(points):
        if place <= high:
            return math.exp(at_low + (at_high - at_low) * (place - low) / (high - low))
    return anchors[-1].threshold
