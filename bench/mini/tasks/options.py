"""How options are shown: under one of their names, with or without a description, in any order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from bench.mini.tasks.example import Ask

OTHERS: Final = ("other", "something_else", "none_of_these", "misc", "general")
OTHER_TEXTS: Final = ("Anything else", "None of the others", "Does not fit elsewhere", "All other cases")


class Named(Protocol):
    """What an option is made from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names, any of which can be shown."""

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Descriptions, any of which can be shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Options as a question holds them, and the place of each by its name first known."""

    criteria: Mapping[str, str | None]
    places: Mapping[str, int]


def show(options: Sequence[Named], rng: random.Random, described: float = 0.6) -> Shown:
    """Put options in a random order; either all are described (with the chance `described`) or none is."""
    shown = list(options)
    rng.shuffle(shown)
    describe = rng.random() < described and all(option.descriptions for option in shown)
    style = rng.choice((_snake, _plain, _plain, str.upper, str.title))
    criteria: dict[str, str | None] = {}
    places: dict[str, int] = {}
    for option in shown:
        key = style(rng.choice(option.names))
        key = key if key not in criteria else style(option.names[0])
        places[option.names[0]] = len(criteria)
        criteria[key] = rng.choice(option.descriptions) if describe else None
    return Shown(criteria, places)


def choice(
    options: Sequence[Named], gold: Named, wordings: Sequence[str], rng: random.Random, described: float = 0.6
) -> Ask:
    """A choice among options of which `gold` is right; now and then it is taken away, or one for the rest is added."""
    removed = len(options) > 2 and rng.random() < 0.08
    kept = [option for option in options if not (removed and option is gold)]
    shown = show(kept, rng, described)
    criteria = dict(shown.criteria)
    index = -1 if removed else shown.places[gold.names[0]]
    if rng.random() < (0.8 if removed else 0.2):
        key = rng.choice(OTHERS)
        if key not in criteria:
            index = len(criteria) if removed else index
            is_described = any(value is not None for value in criteria.values())
            criteria[key] = rng.choice(OTHER_TEXTS) if is_described else None
    return Ask("choice", question("choice", rng.choice(wordings), criteria), index)


def question(kind: str, instructions: str, criteria: Any = None) -> dict[str, Any]:
    """A question as a request holds it."""
    raw: dict[str, Any] = {"type": kind, "instructions": instructions}
    return raw if criteria is None else raw | {"criteria": criteria}


def _snake(name: str) -> str:
    return name.replace(" ", "_")


def _plain(name: str) -> str:
    return name
