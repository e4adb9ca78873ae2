"""A labelled request: a state, and questions whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Mark = tuple[str, int, int]
"""A label, and the characters [start, end) of the state that carry it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as requests hold it, and its answer.

    `gold` is the index of the right option of a choice (-1: none of them), 0 or 1 of a noul, the level of a score;
    of a set the indices of its true labels; of a span its marks.
    """

    kind: str
    raw: Mapping[str, Any]
    gold: int | tuple[int, ...] | tuple[Mark, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the options, or labels, in order."""
        return tuple(self.raw.get("criteria", ()))


@dataclass(frozen=True, slots=True)
class Example:
    """A state with its questions. Two examples of equal `pair` ask for the same score at different levels."""

    state: Any
    asks: tuple[Ask, ...]
    pair: str = ""

    def case(self, ident: str) -> dict[str, Any]:
        """The example as a line of an evaluation file: the request, and what is expected by question ID.

        Questions without a right option, and scores without a partner, are left out of it.
        """
        asks = {f"q{place}": ask for place, ask in enumerate(self.asks) if ask.gold != -1}
        expect = {key: self._expected(ask) for key, ask in asks.items()}
        known = {key: want for key, want in expect.items() if want}
        request = {"state": self.state, "questions": {key: dict(asks[key].raw) for key in known}}
        return {"id": ident, "request": request, "expect": known}

    def _expected(self, ask: Ask) -> dict[str, Any]:
        gold: Any = ask.gold
        match ask.kind:
            case "choice":
                return {"choice": ask.keys[gold]}
            case "noul":
                return {"noul": bool(gold)}
            case "set":
                return {"set": [ask.keys[index] for index in gold]}
            case "span":
                return {"spans": [{"label": label, "text": self.state[start:end]} for label, start, end in gold]}
            case _:
                return {"pair": self.pair, "side": "low" if gold == 0 else "high"} if self.pair else {}
