"""How good answers are: the figures by which a decision model is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

_NOTHING: Final = {"label": None, "text": None}  # given in place of spans that are missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Shares from 0 to 1; 0 where nothing was asked."""

    choice: float
    noul: float
    noul_auc: float
    set_exact: float
    set_f1: float
    span_f1: float
    false_alarms: float
    score_order: float

    def rounded(self) -> dict[str, float]:
        """By name, to three digits."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


@dataclass(slots=True)
class Tally:
    """Collects expected and given answers."""

    choices: list[bool] = field(default_factory=list)
    nouls: list[tuple[bool, float]] = field(default_factory=list)
    sets: list[tuple[Counter[Any], Counter[Any]]] = field(default_factory=list)
    spans: list[tuple[Counter[Any], Counter[Any]]] = field(default_factory=list)
    pairs: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, expect: Mapping[str, Any], body: Mapping[str, Any], question: str) -> None:
        """Note one question of a response body. One without an answer is wrong, and where nothing is to be found it
        counts as a false alarm.
        """
        answer = body["answers"].get(question, {})
        if "choice" in expect:
            self.choices.append(answer.get("choice") == expect["choice"])
        elif "noul" in expect:
            self.nouls.append((expect["noul"], answer.get("noul", 0.0 if expect["noul"] else 1.0)))
        elif "set" in expect:
            self.sets.append(
                (Counter(expect["set"]), Counter(_of(body, "sets", question, {"selected": [None]})["selected"]))
            )
        elif "spans" in expect:
            wanted, given = (
                Counter((span["label"], span["text"]) for span in spans)
                for spans in (expect["spans"], _of(body, "spans", question, [_NOTHING]))
            )
            self.spans.append((wanted, given))
        else:
            wrong = float("inf") if expect["side"] == "low" else float("-inf")
            self.pairs.setdefault(expect["pair"], {})[expect["side"]] = answer.get("score", wrong)

    def figures(self) -> Figures:
        """The figures of all that was noted."""
        pairs = [pair for pair in self.pairs.values() if len(pair) == 2]
        return Figures(
            choice=_share(self.choices),
            noul=_share([(value >= 0.5) == truth for truth, value in self.nouls]),
            noul_auc=auc(self.nouls),
            set_exact=_share([wanted == given for wanted, given in self.sets]),
            set_f1=micro_f1(self.sets),
            span_f1=micro_f1(self.spans),
            false_alarms=_share([bool(given) for wanted, given in self.spans if not wanted]),
            score_order=_share([pair["high"] > pair["low"] for pair in pairs]),
        )


def _of(body: Mapping[str, Any], member: str, question: str, otherwise: Any) -> Any:
    return body.get(member, {}).get(question, otherwise)


def micro_f1(pairs: Iterable[tuple[Counter[Any], Counter[Any]]]) -> float:
    """F1 over all wanted and given things together."""
    hits = wanted = given = 0
    for want, give in pairs:
        hits += (want & give).total()
        wanted += want.total()
        given += give.total()
    return 2 * hits / (wanted + given) if wanted + given else 0.0


def auc(judged: Sequence[tuple[bool, float]]) -> float:
    """The chance that a true case is judged above a false one; a tie is half of it."""
    true = [value for truth, value in judged if truth]
    false = [value for truth, value in judged if not truth]
    if not true or not false:
        return 0.0
    return sum((high > low) + 0.5 * (high == low) for high in true for low in false) / (len(true) * len(false))


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
