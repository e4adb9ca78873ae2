"""From logits to answers (Vela 2.0 format, section 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import ItemError
from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.questions import Asked, Refused
from vela_jax.families.vela2.spans import Found, clip, decode
from vela_jax.families.vela2.words import Words
from vela_jax.systemone.answers import failure

Logits = NDArray[np.float64]
BROAD: Final = "broad"
"""The span head beside the first, which has a temperature and a threshold of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class SpanLogits:
    """What a span question was read from: the part's text, its words with their logits [W C], and all its tokens."""

    text: str
    words: Words
    logits: Logits
    tokens: int
    head: str | None = None  # that read it, where the model has several


@dataclass(slots=True)
class Body:
    """The members of a response, filled question by question in request order."""

    answers: dict[str, Any] = field(default_factory=dict)
    spans: dict[str, Any] = field(default_factory=dict)
    span_heads: dict[str, str] = field(default_factory=dict)
    sets: dict[str, Any] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)

    def to_json(self, tokens: int) -> dict[str, Any]:
        """All members that are not empty, in the order of the contract."""
        body: dict[str, Any] = {"answers": self.answers, "usage": {"input_tokens": tokens, "output_tokens": 0}}
        further = {
            "spans": self.spans,
            "span_heads": self.span_heads,
            "sets": self.sets,
            "thresholds": self.thresholds,
        }
        return body | {name: members for name, members in further.items() if members}


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers the questions of one model. `fits_nouls`: nouls go through the package's further fit."""

    calibration: Calibration
    fits_nouls: bool = False

    def refuse(self, body: Body, key: str, refused: Refused) -> None:
        """Note a question without an answer."""
        body.answers[key] = failure(refused.kind, refused.error, refused.message, refused.reason)

    def answer(self, body: Body, asked: Asked, found: Logits | SpanLogits) -> None:
        """Note the answer of a question; of one whose logits are not finite, the failure."""
        logits = found.logits if isinstance(found, SpanLogits) else found
        if not np.isfinite(self._checked(asked, logits)).all():
            self.refuse(body, asked.id, Refused(asked.kind, ItemError.INVALID_MODEL_OUTPUT))
            return
        coverage = {"input_coverage": "complete"} if asked.full else {}
        if isinstance(found, SpanLogits):
            body.answers[asked.id] = {"type": "noul", "noul": self._span(body, asked, found)} | coverage
        elif asked.kind == "set":
            self._set(body, asked, found, coverage)
        else:
            answer = {"choice": self._choice, "noul": self._noul, "score": self._score}[asked.kind]
            body.answers[asked.id] = answer(asked, found) | coverage

    def _checked(self, asked: Asked, logits: Logits) -> Logits:
        """The logits that an answer is made of: only a choice reports what abstains."""
        return logits[: len(asked.options)] if asked.kind == "noul" else logits

    def _choice(self, asked: Asked, logits: Logits) -> dict[str, Any]:
        count = len(asked.options)
        temperature = self.calibration.temperature_of("choice")
        values: list[float] = logits.tolist()
        probabilities = softmax(values[:count], temperature)
        first, second = sorted(probabilities, reverse=True)[:2]
        names = [name for name, _ in asked.options]
        return {
            "type": "choice",
            "choice": names[values.index(max(values[:count]))],
            "confidence": _unit(first - second),
            "probabilities": dict(zip(names, probabilities, strict=True)),
            "abstain_probability": softmax(values, temperature)[-1],
        }

    def _noul(self, asked: Asked, logits: Logits) -> dict[str, Any]:
        count = len(asked.options)
        value = softmax(logits.tolist()[:count], self.calibration.temperature_of("choice"))[1]
        fitted = self.calibration.noul
        return {"type": "noul", "noul": fitted.apply(value) if fitted and self.fits_nouls else value}

    def _score(self, asked: Asked, logits: Logits) -> dict[str, Any]:
        probabilities = softmax(logits.tolist(), self.calibration.temperature_of("score"))
        count = len(probabilities)
        score = math.fsum(level * value for level, value in enumerate(probabilities))
        variance = math.fsum(value * (level - score) ** 2 for level, value in enumerate(probabilities))
        return {
            "type": "score",
            "score": score,
            "confidence": _unit(1 - variance / ((count * count - 1) / 12)),
            "legend": {str(level): text for level, text in enumerate(asked.legend)},
            "probabilities": {str(level): value for level, value in enumerate(probabilities)},
        }

    def _set(self, body: Body, asked: Asked, logits: Logits, coverage: dict[str, str]) -> None:
        values = sigmoid(logits / self.calibration.temperature_of("set")).tolist()
        names = [name for name, _ in asked.options]
        threshold = asked.threshold
        if threshold is None:
            threshold = self.calibration.set_threshold(asked.key)
        for name, value in zip(names, values, strict=True):
            body.answers[f"{asked.id}.{name}"] = {"type": "noul", "noul": value} | coverage
        selected = [name for name, value in zip(names, values, strict=True) if value >= threshold]
        body.sets[asked.id] = {"selected": selected, "probabilities": dict(zip(names, values, strict=True))} | coverage
        body.thresholds[asked.id] = threshold

    def _span(self, body: Body, asked: Asked, found: SpanLogits) -> float:
        """Note spans and threshold; the noul is the strongest word's probability."""
        broad = self.calibration.broad if found.head == BROAD else None
        temperature = broad.temperature if broad else self.calibration.temperature_of("span")
        probabilities = sigmoid(found.logits / temperature)
        spans, text, place = found.words.spans, found.text, asked.clip
        threshold = self._span_threshold(asked, found, probabilities)
        decoded = decode(probabilities, spans, text, threshold)
        inside = np.ones(len(spans), np.bool_)
        if place is not None:
            decoded = clip(decoded, text, place.start, place.end)
            inside = (spans[:, 0] >= place.start) & (spans[:, 1] <= place.end)
        body.spans[asked.id] = _entries(decoded, asked, text, 0 if place is None else place.start)
        body.thresholds[asked.id] = threshold
        if found.head is not None:
            body.span_heads[asked.id] = found.head
        return float(probabilities[inside].max(initial=0.0))

    def _span_threshold(self, asked: Asked, found: SpanLogits, probabilities: Logits) -> float:
        if asked.threshold is not None:
            return asked.threshold
        if found.head == BROAD and self.calibration.broad is not None:
            return self.calibration.broad.threshold
        spans, text = found.words.spans, found.text

        def count(threshold: float) -> int:
            return len(decode(probabilities, spans, text, threshold))

        labels = frozenset(name for name, _ in asked.options)
        return self.calibration.span_threshold(asked.key, labels, found.tokens, count if len(spans) else None)


def softmax(logits: Sequence[float], temperature: float) -> list[float]:
    """Probabilities of logits / temperature, summed exactly."""
    highest = max(logits)
    powers = [math.exp((logit - highest) / temperature) for logit in logits]
    total = math.fsum(powers)
    return [power / total for power in powers]


def sigmoid(values: Logits) -> Logits:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1 / (1 + small), small / (1 + small))


def _entries(found: Sequence[Found], asked: Asked, text: str, low: int) -> list[dict[str, Any]]:
    return [
        {
            "label": asked.options[span.label][0],
            "start": span.start,
            "end": span.end,
            "text": text[low + span.start : low + span.end],
            "probability": span.probability,
        }
        for span in found
    ]


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
