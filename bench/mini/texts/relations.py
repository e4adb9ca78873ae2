"""What WordNet says a thing is a sort of, and which field a meaning belongs to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bench.mini.texts.dictionary import HOME, Entry, data_lines, read_entry

_SORT, _FIELD = "@", ";c"  # pointers to what a noun is a sort of, and to the field of a meaning
_PREFACE: Final = re.compile(r"^\([^)]*\) *")
_FEWEST: Final = 6
"""Meanings of a field that is asked for."""


@dataclass(frozen=True, slots=True)
class Sort:
    """A thing, and the words for what it is a sort of."""

    thing: Entry
    kind: Entry


@dataclass(frozen=True, slots=True)
class Field:
    """A field by its words, and meanings that belong to it."""

    kind: Entry
    meanings: tuple[Entry, ...]


@cache
def sorts(home: Path = HOME) -> tuple[Sort, ...]:
    """Every noun with what it is a sort of; none where the dictionary is not installed."""
    nouns = _nouns(home)
    return tuple(
        Sort(thing, nouns[target][0])
        for thing, pointers in nouns.values()
        for symbol, target in pointers[:1]
        if symbol == _SORT
    )


@cache
def fields(home: Path = HOME) -> tuple[Field, ...]:
    """Fields in order of their words; none where the dictionary is not installed."""
    nouns = _nouns(home)
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry, pointers in nouns.values():
        for symbol, target in pointers:
            if symbol == _FIELD and target in nouns:
                found[target].append(Entry(entry.words, _PREFACE.sub("", entry.gloss), entry.uses))
    large = [Field(nouns[target][0], tuple(meanings)) for target, meanings in found.items() if len(meanings) >= _FEWEST]
    return tuple(sorted(large, key=lambda field: field.kind.words))


@cache
def _nouns(home: Path) -> Mapping[str, tuple[Entry, tuple[tuple[str, str], ...]]]:
    return dict(_read(home / "data.noun"))


def _read(path: Path) -> Iterator[tuple[str, tuple[Entry, tuple[tuple[str, str], ...]]]]:
    """By its offset each meaning with its pointers (symbol, offset)."""
    for line in data_lines(path):
        data = line.partition(" | ")[0].split()
        start = 4 + 2 * int(data[3], 16)
        pointers = data[start + 1 : start + 1 + 4 * int(data[start])]
        pairs = tuple(zip(pointers[::4], pointers[1::4], strict=True))
        yield data[0], (read_entry(line), pairs)
