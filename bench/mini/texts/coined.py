"""Names that nobody has: without them a model learns the listed names by heart, and no others."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ONSETS: Final = (
    *("b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "c", "y"),
    *(
        "br",
        "ch",
        "cl",
        "dr",
        "fl",
        "gr",
        "kh",
        "kr",
        "ph",
        "pr",
        "sh",
        "st",
        "th",
        "tr",
        "sch",
        "sz",
        "ts",
        "ng",
        "qu",
    ),
)
_VOWELS: Final = (
    *("a", "e", "i", "o", "u"),
    *("a", "e", "i", "o"),
    "ai",
    "au",
    "ee",
    "ei",
    "ia",
    "ie",
    "ou",
    "oo",
    "y",
)
_CODAS: Final = (*("",) * 6, "l", "m", "n", "r", "s", "t", "k", "nd", "ng", "rt", "ll", "ck", "sh", "x", "lm", "rn")
_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "given": ("", "", "a", "o", "i", "ie", "us", "ine", "el", "an", "ah", "iya", "ana", "ita", "ik", "ur"),
        "family": (
            *("", "", "son", "sen", "ez", "ski", "ova", "man", "berg", "ini", "idis", "wala", "oğlu", "ley", "ford"),
            *("ström", "enko", "ian", "ito", "ura", "aga", "eau", "ard", "er", "mann", "well", "wood", "es"),
        ),
        "gpe": (
            *("", "", "ville", "ton", "burg", "stad", "ia", "istan", "ford", "haven", "pur", "grad", "land", "mouth"),
            *("ham", "by", "ingen", "polis", "abad", "field", "port", "wick"),
        ),
        "street": ("", "", "wood", "dale", "field", "brook", "gate", "mill", "hill", "ton"),
        "orgword": ("", "", "tech", "ix", "ora", "ium", "ify", "soft", "net", "ex", "ics", "on", "gen", "corp"),
        "site": ("", "", "ly", "hub", "shop", "base", "tech", "-online", "app", "works", "-mail", "24"),
    }
)
KINDS: Final = frozenset(_ENDINGS)
"""Rows of the table of names that can be coined."""


def coined(kind: str, rng: random.Random) -> str:
    """A name of a kind, of one or two syllables and an ending that such names have."""
    syllables = rng.choice((1, 1, 1, 2))
    stem = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables)) + rng.choice(_CODAS)
    name = stem + rng.choice(_ENDINGS[kind])
    return name if kind == "site" else name.capitalize()
