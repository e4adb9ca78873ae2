"""Names of WordNet's people, places and peoples, read from the files of Debian's package `wordnet-base`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from bench.mini.texts.dictionary import HOME, data_lines

_NAME: Final = re.compile(r"[A-Z][a-zé'-]+(?: [A-Z][a-z'-]+)?")
_FULL_NAME: Final = re.compile(r"([A-Z][a-z]+(?:-[A-Z][a-z]+)?) (?:[A-Z][a-z.]+ )?([A-Z][a-z'-]+)")
_PLACES, _PEOPLE, _PERTAINING = "15", "18", "01"  # lexicographer files
_INSTANCE: Final = " @i "


@cache
def names(home: Path = HOME) -> Mapping[str, tuple[str, ...]]:
    """Given and family names, places and peoples (rows of the table of names); none without the dictionary."""
    full = [found.groups() for name in _words(home / "data.noun", _PEOPLE) if (found := _FULL_NAME.fullmatch(name))]
    places = [name for name in _words(home / "data.noun", _PLACES) if _NAME.fullmatch(name)]
    peoples = [name for name in _words(home / "data.adj", _PERTAINING) if _NAME.fullmatch(name) and name.endswith("n")]
    rows = {"given": [each[0] for each in full], "family": [each[1] for each in full], "gpe": places, "nrp": peoples}
    return {row: tuple(sorted(set(found))) for row, found in rows.items()}


def _words(path: Path, source: str) -> Iterator[str]:
    """The words of one lexicographer file; of nouns, of single people and places alone."""
    for line in data_lines(path):
        fields = line.split(maxsplit=4)
        if fields[1] != source or (path.suffix == ".noun" and _INSTANCE not in line):
            continue
        words = fields[4].split()[: 2 * int(fields[3], 16) : 2]
        yield from (word.split("(")[0].replace("_", " ") for word in words)
