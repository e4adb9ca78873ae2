"""Ladders of row lengths and row counts: which compiled shape a row runs in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LENGTHS = (
    *(16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 576, 640, 704, 768, 832, 896, 1024, 1280, 1536, 1792, 2048),
    *(2560, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768),
)
COUNTS = (1, 2, 4, 8, 16, 32)
ROOMS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
"""Room for the prefix of a row: coarse, since it multiplies the shapes of rows and costs them little time."""
_FACTOR = 64  # of a number of tokens, from which on a CPU's code does not change


@dataclass(frozen=True, slots=True)
class Ladder:
    """Ascending sizes; a value goes to the smallest size that holds it."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or self.sizes[0] < 1 or any(b <= a for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise ValueError(f"a ladder needs ascending sizes of at least 1, got {list(self.sizes)}")

    @property
    def largest(self) -> int:
        """The last size."""
        return self.sizes[-1]

    def fit(self, value: int) -> int:
        """Smallest size that is at least `value`; ValueError above the largest."""
        place = bisect_left(self.sizes, value)
        if place == len(self.sizes):
            raise ValueError(f"{value} is above the largest bucket, {self.largest}")
        return self.sizes[place]


class Sizes(NamedTuple):
    """What rows and prefixes are padded to when they are read, and prefixes when rows continue them."""

    lengths: Ladder
    rooms: Ladder

    def room(self, prefix: int) -> int:
        """Room for what is handed over by a prefix of so many tokens: it holds their bucket."""
        return self.rooms.fit(self.lengths.fit(prefix))


def length_ladder(max_length: int, lengths: Sequence[int] = LENGTHS) -> Ladder:
    """Cut the lengths at the model's limit, which is always the last size."""
    return Ladder((*(length for length in lengths if length < max_length), max_length))


def count_ladder(length: int, max_batch_tokens: int, counts: Sequence[int] = COUNTS) -> Ladder:
    """Row counts of one length bucket whose padded tokens stay within the budget; one row always may run.

    Where the length is no multiple of 64 an even count takes one row more: a CPU picks the code of a short product by
    the number of tokens (`token_product`), and odd counts get the code, and so the bits, of one row.
    """
    odd = length % _FACTOR != 0
    fitting = (count + (odd and count % 2 == 0) for count in counts if count > 1)
    return Ladder((1, *(count for count in fitting if count * length <= max_batch_tokens)))
