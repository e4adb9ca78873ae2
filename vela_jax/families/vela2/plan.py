"""A planned request: what each question is read from, and the answer that is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import Answer, ItemError, Missing, Result, Row
from vela_jax.families.vela2.answers import Answerer, Body, Logits, SpanLogits
from vela_jax.families.vela2.questions import Asked, Refused
from vela_jax.systemone.answers import outcomes

Outputs = Sequence[NDArray[np.float32]]


class Reading(Protocol):
    """Questions that are read together, from one or more rows."""

    @property
    def asked(self) -> Sequence[Asked]:
        """The questions."""

    @property
    def rows(self) -> Sequence[Row]:
        """What the model reads."""

    @property
    def tokens(self) -> int:
        """Tokens read, as the usage counts them."""

    def logits(self, outputs: Outputs) -> Mapping[str, Logits | SpanLogits]:
        """Logits by question ID, from the outputs of the rows, in order."""


@dataclass(frozen=True, slots=True)
class DecisionsPlan:
    """A read request; `order` holds every question ID in request order."""

    order: tuple[str, ...]
    refused: Mapping[str, Refused]
    readings: tuple[Reading, ...]
    answerer: Answerer

    @property
    def rows(self) -> Sequence[Row]:
        """Rows of all readings, in order."""
        return [row for reading in self.readings for row in reading.rows]

    def assemble(self, results: Sequence[Result]) -> Answer:
        """Answers in request order, failures in place. The usage counts the rows of readings that ran."""
        refused = dict(self.refused)
        found: dict[str, tuple[Asked, Logits | SpanLogits]] = {}
        tokens = start = 0
        for reading in self.readings:
            end = start + len(reading.rows)
            outputs = [result for result in results[start:end] if not isinstance(result, Missing)]
            if len(outputs) < end - start:
                late = ItemError.DEADLINE_EXCEEDED
                refused |= {asked.id: Refused(asked.kind, late) for asked in reading.asked}
            else:
                logits = reading.logits(outputs)
                found |= {asked.id: (asked, logits[asked.id]) for asked in reading.asked}
                tokens += reading.tokens
            start = end
        body = Body()
        for key in self.order:
            if key in refused:
                self.answerer.refuse(body, key, refused[key])
            else:
                self.answerer.answer(body, *found[key])
        return Answer(body.to_json(tokens), {}, tokens, outcomes(body.answers.values()))
