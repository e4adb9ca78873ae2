"""Bit classes: the row counts of a bucket in which a row has the bits that it has alone, and how they were found."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vela_jax.forward.executables import Executables, Shape
from vela_jax.forward.probe import Bits, Prober


class Bucket(NamedTuple):
    """Padded length and depth, and the room for a prefix: what a row and the length of its prefix decide."""

    length: int
    depth: int
    room: int = 0  # none: rows without a prefix

    def shape(self, count: int) -> Shape:
        """The bucket with a row count."""
        return Shape(count, self.length, self.depth, self.room)


class BitClass(msgspec.Struct, frozen=True):
    """Row counts of one bucket that were found to give the bits of one row, which is always among them."""

    members: tuple[int, ...] = (1,)  # ascending
    rejected: tuple[int, ...] = ()

    @property
    def verdict(self) -> str:
        """`proved` when rows may run together, `alone` when none may (yet)."""
        return "proved" if len(self.members) > 1 else "alone"

    def joined(self, count: int, *, agrees: bool) -> BitClass:
        """The class after a further count was probed."""
        if agrees:
            return msgspec.structs.replace(self, members=tuple(sorted({*self.members, count})))
        return msgspec.structs.replace(self, rejected=tuple(sorted({*self.rejected, count})))


class Classifier:
    """Finds bit classes by probing. Runs on one thread at a time."""

    def __init__(self, executables: Executables, prober: Prober) -> None:
        self._executables = executables
        self._prober = prober
        self._alone: dict[Bucket, Bits | None] = {}  # bits of lone rows

    def try_count(self, bucket: Bucket, known: BitClass, count: int) -> BitClass:
        """Probe one more row count: it joins when every row keeps the bits that it has alone."""
        self._executables.ensure(bucket.shape(count))
        alone = self._bits_alone(bucket)
        agrees = alone is not None and self._prober.bits(bucket.shape(count)) == alone
        return known.joined(count, agrees=agrees)

    def _bits_alone(self, bucket: Bucket) -> Bits | None:
        if bucket not in self._alone:
            self._executables.ensure(bucket.shape(1))
            self._alone[bucket] = self._prober.bits(bucket.shape(1))
        return self._alone[bucket]
