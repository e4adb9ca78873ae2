"""Glosses of WordNet, read from the files of Debian's package `wordnet-base`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HOME: Final = Path("/usr/share/wordnet")
_PARTS: Final = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True, slots=True)
class Entry:
    """A meaning: its words, and what it says."""

    words: tuple[str, ...]
    gloss: str


def entries(home: Path = HOME) -> Iterator[Entry]:
    """All meanings in file order; none where the dictionary is not installed."""
    for part in _PARTS:
        path = home / f"data.{part}"
        if path.is_file():
            with path.open(encoding="utf-8") as lines:
                yield from (_entry(line) for line in lines if not line.startswith("  "))


def _entry(line: str) -> Entry:
    data, _, text = line.partition(" | ")
    fields = data.split()
    count = int(fields[3], 16)
    words = tuple(fields[4 + 2 * place].split("(")[0].replace("_", " ") for place in range(count))
    return Entry(words, text.partition('"')[0].strip(" ;\n"))
