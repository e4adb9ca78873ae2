"""Few shapes of batches: rows of about one length go together, so that little is padded and little compiled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

WIDTHS: Final = (16, 32, 48, 64, 96, 128, 192, 256)
"""Lengths that rows are padded to."""
TOKENS: Final = 1024
"""Positions of a batch."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows by their index, and the shape [count, width] that they are padded to."""

    indices: tuple[int, ...]
    count: int
    width: int


def width_of(length: int) -> int:
    """The width of a row. Raises ValueError for a row longer than all."""
    for width in WIDTHS:
        if length <= width:
            return width
    raise ValueError(f"rows hold at most {WIDTHS[-1]} tokens; found {length}")


def batches(lengths: Sequence[int], rng: random.Random | None = None, tokens: int = TOKENS) -> list[Shape]:
    """Every row in one batch of its width; with `rng` in random order, and rows of a width in random company."""
    order = list(range(len(lengths)))
    if rng:
        rng.shuffle(order)
    by_width: dict[int, list[int]] = {}
    for index in order:
        by_width.setdefault(width_of(lengths[index]), []).append(index)
    found = []
    for width, indices in sorted(by_width.items()):
        count = max(1, tokens // width)
        found += [Shape(tuple(indices[at : at + count]), count, width) for at in range(0, len(indices), count)]
    if rng:
        rng.shuffle(found)
    return found


def padded(rows: Sequence[NDArray[np.int32]], shape: Shape) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Ids [B S] padded with 0, and lengths [B]; rows that are not there have length 0."""
    ids = np.zeros((shape.count, shape.width), np.int32)
    lengths = np.zeros(shape.count, np.int32)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        lengths[place] = len(row)
    return ids, lengths
