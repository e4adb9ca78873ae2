"""Batch plans: which rows run together, in which bucket and slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from vela_jax.contract import Batch, Row
from vela_jax.forward.buckets import Ladder, Sizes
from vela_jax.forward.classes import Bucket

MOST_PADDING = 0.25  # share of empty slots that a batch may have before it is cut in two


def bucket_of(row: Row, sizes: Sizes) -> Bucket:
    """The bucket that a row runs in: it follows from the row alone, its prefix included."""
    room = sizes.room(row.prefix.length) if row.prefix is not None else 0
    return Bucket(sizes.lengths.fit(row.length), row.readout.depth, room)


def plan_batches(
    rows: Sequence[Row], sizes: Sizes, counts: Callable[[Bucket], Ladder], kept: bytes | None = None
) -> list[Batch]:
    """Place every row in one batch; rows with equal input and bucket share a slot.

    `counts` gives the row counts that a bucket may use, `kept` is the key of a prefix that need not be read. Batches
    that continue one prefix follow each other; the first is to read it.
    """
    batches: list[Batch] = []
    for key, buckets in _by_prefix(rows, sizes).items():
        first = len(batches)
        for bucket, groups in buckets.items():
            batches += _batches(bucket, groups, counts(bucket))
        prefix = rows[batches[first].indices[0]].prefix
        if prefix is not None and key != kept:
            batches[first] = replace(batches[first], prefix=sizes.lengths.fit(prefix.length))
    return batches


def _batches(bucket: Bucket, groups: Sequence[Sequence[int]], counts: Ladder) -> Iterator[Batch]:
    """Batches of one bucket; rows of a group share a slot."""
    start = 0
    for count, taken in cut(len(groups), counts):
        part = groups[start : start + taken]
        start += taken
        indices = tuple(index for group in part for index in group)
        slots = tuple(slot for slot, group in enumerate(part) for _ in group)
        yield Batch(indices, slots, count, bucket.length, bucket.depth)


def cut(rows: int, counts: Ladder) -> Iterator[tuple[int, int]]:
    """Cut `rows` rows into batches: pairs of the row count and the rows it takes.

    A batch is padded to the next count where that leaves few slots empty, else filled and followed by the rest.
    """
    while rows:
        lower = max((size for size in counts.sizes if size <= rows), default=counts.sizes[0])
        upper = next((size for size in counts.sizes if size >= rows), lower)
        count = upper if upper - rows <= MOST_PADDING * upper else lower
        taken = min(count, rows)
        yield count, taken
        rows -= taken


def _by_prefix(rows: Sequence[Row], sizes: Sizes) -> dict[bytes, dict[Bucket, list[list[int]]]]:
    """Indices of equal rows, by the key of their prefix and by bucket."""
    prefixes: dict[bytes, dict[Bucket, dict[bytes, list[int]]]] = {}
    for index, row in enumerate(rows):
        buckets = prefixes.setdefault(row.prefix.key if row.prefix is not None else b"", {})
        groups = buckets.setdefault(bucket_of(row, sizes), {})
        groups.setdefault(row.input_bytes(), []).append(index)
    return {
        key: {bucket: list(groups.values()) for bucket, groups in buckets.items()} for key, buckets in prefixes.items()
    }
