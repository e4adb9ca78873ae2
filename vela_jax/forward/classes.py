"""Bit classes: the row counts of a bucket in which a row has the same bits, and how they were found out."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from vela_jax.forward.buckets import Ladder
from vela_jax.forward.executables import Executables, Shape
from vela_jax.forward.probe import Bits, Prober


class Bucket(NamedTuple):
    """Padded length and depth: what a row's own length and readout decide."""

    length: int
    depth: int

    def shape(self, count: int) -> Shape:
        """The bucket with a row count."""
        return Shape(count, self.length, self.depth)


class BitClass(msgspec.Struct, frozen=True):
    """Row counts of one bucket that were found to give equal bits; a lone row runs in `base` rows.

    `alone`: nothing was proved, or there is nothing to prove; one row a forward.
    """

    base: int
    members: tuple[int, ...]  # ascending, the base among them
    rejected: tuple[int, ...] = ()
    verdict: Literal["proved", "alone"] = "proved"

    def joined(self, count: int, *, agrees: bool) -> BitClass:
        """The class after a further count was probed."""
        if agrees:
            return msgspec.structs.replace(self, members=tuple(sorted({*self.members, count})))
        return msgspec.structs.replace(self, rejected=tuple(sorted({*self.rejected, count})))


ALONE = BitClass(1, (1,), (), "alone")


class Classifier:
    """Finds bit classes by probing. Runs on one thread at a time."""

    def __init__(self, executables: Executables, prober: Prober) -> None:
        self._executables = executables
        self._prober = prober
        self._bits: dict[Bucket, Bits | None] = {}  # of the bases

    def open(self, bucket: Bucket, counts: Ladder) -> BitClass:
        """Decide a bucket's base: one row if that gives the bits of two rows, else two.

        The choice depends on the host alone, never on what else was compiled by then.
        """
        self._executables.ensure(bucket.shape(1))
        if len(counts.sizes) == 1:
            return ALONE
        pair = counts.sizes[1]
        self._executables.ensure(bucket.shape(pair))
        one, two = self._prober.bits(bucket.shape(1)), self._prober.bits(bucket.shape(pair))
        self._bits[bucket] = two or one
        if two is None:
            return BitClass(1, (1,), (pair,), "alone")
        if one == two:
            return BitClass(1, (1, pair))
        return BitClass(pair, (pair,), (1,))

    def try_count(self, bucket: Bucket, known: BitClass, count: int) -> BitClass:
        """Probe one more row count of an open bucket."""
        self._executables.ensure(bucket.shape(count))
        if bucket not in self._bits:
            self._executables.ensure(bucket.shape(known.base))
            self._bits[bucket] = self._prober.bits(bucket.shape(known.base))
        bits = self._bits[bucket]
        return known.joined(count, agrees=bits is not None and self._prober.agrees(bucket.shape(count), bits))
