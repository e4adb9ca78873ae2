"""Which entries are trained on and which are kept to be judged by: decided by their text, once and for all."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, TypeVar

Entry = TypeVar("Entry")
HELD_OF: Final = 6
"""One entry of so many is held out."""


class Split(StrEnum):
    """The side of an entry."""

    TRAIN = "train"
    HELD = "held"


def side(text: str) -> Split:
    """The side of an entry, by its text."""
    return Split.HELD if zlib.crc32(text.encode()) % HELD_OF == 0 else Split.TRAIN


def choose(entries: Sequence[Entry], split: Split, text: Callable[[Entry], str] = str) -> tuple[Entry, ...]:
    """The entries of one side."""
    return tuple(entry for entry in entries if side(text(entry)) is split)
