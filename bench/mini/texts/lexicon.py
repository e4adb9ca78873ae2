"""Sorts of things, and words for things of each sort."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import cells, parts

_ARTICLES = ("a ", "an ", "the ", "some")


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of things: its names, how one of it is asked for, what describes it, and its words."""

    names: tuple[str, ...]
    asked: tuple[str, ...]
    descriptions: tuple[str, ...]
    words: tuple[str, ...]

    def of(self, split: Split) -> tuple[str, ...]:
        """The words of one side; all where that side has none."""
        return choose(self.words, split) or self.words


@cache
def sorts() -> tuple[Sort, ...]:
    """All sorts."""
    return tuple(_sort(first, tuple(words)) for first, *words in cells("lexicon"))


def _sort(first: str, words: tuple[str, ...]) -> Sort:
    names, _, description = first.partition(" = ")
    read = parts(names, "/")
    asked = tuple(name for name in read if name.startswith(_ARTICLES)) or read
    plain = tuple(name for name in read if not name.startswith(_ARTICLES))
    return Sort(plain, asked, (description,), words)
