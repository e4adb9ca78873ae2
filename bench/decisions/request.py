"""Requests of several questions about one state, as the rows that a decoder reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from bench.decisions.signals import SIGNALS
from checkpoints.models import ServedModel
from vela_jax.contract import Row, Surface, tokens_of
from vela_jax.surfaces.requests import DecisionsRequest

URGENCY: Final = ("Routine", "Needs attention soon", "Needs attention now")
QUESTIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **{name: signal for name, signal in SIGNALS.items() if "preset" not in signal},
        "urgency": {"type": "score", "instructions": "How urgent is it?", "levels": list(URGENCY)},
        "harm": {"type": "noul", "instructions": "An answer could do harm."},
    }
)
"""A router's signals that are answered by options: a span question would ask for another length of row."""
STATES: Final = 2
"""Different states of one length: a state that was just read is kept, so that it must not come twice in a row."""


@dataclass(frozen=True, slots=True)
class Request:
    """The same questions about several states of one length: their rows, the turns of a measurement."""

    turns: tuple[Sequence[Row], ...]

    @property
    def tokens(self) -> int:
        """Tokens of one turn, its state counted once."""
        return tokens_of(self.turns[0])


def request_of(model: ServedModel, states: Iterator[str], questions: int) -> Request:
    """The first `questions` questions about the next states."""
    asked = dict(islice(QUESTIONS.items(), questions))
    plans = (
        model.plan(Surface.DECISIONS, DecisionsRequest(state=next(states), questions=asked)) for _ in range(STATES)
    )
    return Request(tuple(tuple(plan.rows) for plan in plans))
