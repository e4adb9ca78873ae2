"""The calibration of a package: what `calibration.json` holds, and how its numbers are fitted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from bench.mini.texts.personal import DESCRIPTIONS
from vela_jax.families.vela2.calibration import Calibration, LevelSchema, SpanSchema

PII_TEXT: Final = "Find all personal data."
RELEVANCE_TEXT: Final = "How relevant is the document?"
LEVELS: Final = (
    ("not_relevant", "Not relevant"),
    ("partially_relevant", "Partly relevant"),
    ("highly_relevant", "Highly relevant"),
)
TEMPERATURES: Final = (0.3, 0.45, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5)
THRESHOLDS: Final = tuple(round(0.05 * step, 2) for step in range(1, 20))


@dataclass(frozen=True, slots=True)
class Fitted:
    """The numbers of a calibration."""

    temperature: dict[str, float] = field(
        default_factory=lambda: {"choice": 1.0, "score": 1.0, "set": 1.0, "span": 1.0}
    )
    set_threshold: float = 0.5
    span_threshold: float = 0.5

    def members(self) -> dict[str, Any]:
        """The content of `calibration.json` (Vela 2.0 format, section 2.2)."""
        return {
            "temperature": self.temperature,
            "thresholds": {"set:*": self.set_threshold, "span:*": self.span_threshold},
            "pii_types": list(DESCRIPTIONS),
            "pii_schema": {"text": PII_TEXT, "labels": {name: texts[0] for name, texts in DESCRIPTIONS.items()}},
            "relevance_schema": {
                "text": RELEVANCE_TEXT,
                "levels": dict(LEVELS),
                "values": {name: place / 2 for place, (name, _) in enumerate(LEVELS)},
            },
        }

    def calibration(self) -> Calibration:
        """The same as the family reads it."""
        labels = tuple((name, texts[0]) for name, texts in DESCRIPTIONS.items())
        return Calibration(
            temperature=MappingProxyType(self.temperature),
            thresholds=MappingProxyType({"set:*": self.set_threshold, "span:*": self.span_threshold}),
            pii_types=frozenset(DESCRIPTIONS),
            span_presets=MappingProxyType({"pii": SpanSchema(PII_TEXT, labels)}),
            level_presets=MappingProxyType({"relevance": LevelSchema(RELEVANCE_TEXT, LEVELS)}),
        )


def fit_temperature(judged: Sequence[tuple[Sequence[float], int]]) -> float:
    """The temperature at which the right one of several logits is likeliest; 1 where nothing is known."""
    if not judged:
        return 1.0

    def loss(temperature: float) -> float:
        return sum(_surprise(logits, gold, temperature) for logits, gold in judged)

    return min(TEMPERATURES, key=loss)


def fit_threshold(value: Callable[[float], float]) -> float:
    """The threshold of the highest value; of equal ones the middle."""
    values = [value(threshold) for threshold in THRESHOLDS]
    best = [threshold for threshold, each in zip(THRESHOLDS, values, strict=True) if each >= max(values) - 1e-9]
    return best[len(best) // 2]


def _surprise(logits: Sequence[float], gold: int, temperature: float) -> float:
    highest = max(logits)
    total = math.fsum(math.exp((logit - highest) / temperature) for logit in logits)
    return math.log(total) - (logits[gold] - highest) / temperature
