"""Glosses of WordNet, read from the files of Debian's package `wordnet-base`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HOME: Final = Path("/usr/share/wordnet")
_QUOTED: Final = re.compile(r'"([^"]+)"')
_PARTS: Final = ("noun", "verb", "adj", "adv")


@dataclass(frozen=True, slots=True)
class Entry:
    """A meaning: its words, what it says, and phrases that use it."""

    words: tuple[str, ...]
    gloss: str
    uses: tuple[str, ...] = ()


def entries(home: Path = HOME) -> Iterator[Entry]:
    """All meanings in file order; none where the dictionary is not installed."""
    for part in _PARTS:
        yield from map(read_entry, data_lines(home / f"data.{part}"))


def data_lines(path: Path) -> Iterator[str]:
    """A line a meaning, without the licence before them; none where the file is missing."""
    if path.is_file():
        with path.open(encoding="utf-8") as lines:
            yield from (line for line in lines if not line.startswith("  "))


def read_entry(line: str) -> Entry:
    """The meaning of a line of a `data` file."""
    data, _, text = line.partition(" | ")
    fields = data.split()
    count = int(fields[3], 16)
    words = tuple(fields[4 + 2 * place].split("(")[0].replace("_", " ") for place in range(count))
    gloss, _, rest = text.partition('"')
    return Entry(words, gloss.strip(" ;\n"), tuple(_QUOTED.findall(f'"{rest}')))
