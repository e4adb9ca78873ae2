"""Fills the slots of sentence patterns."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import keyed

_SLOT: Final = re.compile(r"\{([a-z]+)\}")


def person(rng: random.Random, split: Split) -> str:
    """A given name, often with a family name, of the names of one side."""
    names = keyed("names")
    given = rng.choice(choose(names["given"], split))
    return f"{given} {rng.choice(choose(names['family'], split))}" if rng.random() < 0.6 else given


def fill(pattern: str, rng: random.Random, split: Split) -> str:
    """The pattern with every slot filled; equal slots take equal values."""
    found: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        slot = match[1]
        if slot not in found:
            found[slot] = person(rng, split) if slot == "person" else rng.choice(keyed("slots")[slot])
        return found[slot]

    return _SLOT.sub(value, pattern)


def fill_all(patterns: Sequence[str], rng: random.Random, split: Split) -> list[str]:
    """Several patterns with the same values in the same slots."""
    return fill("\n".join(patterns), rng, split).split("\n")


def vary(text: str, rng: random.Random) -> str:
    """Now and then, how people type: no capitals, no full stop, a greeting before it."""
    if rng.random() < 0.12:
        text = text.lower()
    if rng.random() < 0.12:
        text = text.rstrip(".?!")
    if rng.random() < 0.08:
        text = f"{rng.choice(('Hi', 'Hello', 'Good morning', 'Hey there', 'Excuse me'))}, {text}"
    return text
