"""Batch plans: which rows run together, in which bucket and slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vela_jax.contract import Batch, Row
from vela_jax.forward.buckets import Ladder
from vela_jax.forward.classes import Bucket

MOST_PADDING = 0.25  # share of empty slots that a batch may have before it is cut in two


def bucket_of(row: Row, lengths: Ladder) -> Bucket:
    """The bucket that a row runs in: it follows from the row alone."""
    return Bucket(lengths.fit(row.length), row.readout.depth)


def plan_batches(rows: Sequence[Row], lengths: Ladder, counts: Callable[[Bucket], Ladder]) -> list[Batch]:
    """Place every row in one batch; rows with equal input and bucket share a slot.

    `counts` gives the row counts that a bucket may use.
    """
    batches = []
    for bucket, groups in _by_bucket(rows, lengths).items():
        ladder = counts(bucket)
        start = 0
        for count, taken in cut(len(groups), ladder):
            part = groups[start : start + taken]
            start += taken
            indices = tuple(index for group in part for index in group)
            slots = tuple(slot for slot, group in enumerate(part) for _ in group)
            batches.append(Batch(indices, slots, count, bucket.length, bucket.depth))
    return batches


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


def _by_bucket(rows: Sequence[Row], lengths: Ladder) -> dict[Bucket, list[list[int]]]:
    """Indices of equal rows, by bucket."""
    buckets: dict[Bucket, dict[bytes, list[int]]] = {}
    for index, row in enumerate(rows):
        groups = buckets.setdefault(bucket_of(row, lengths), {})
        groups.setdefault(row.input_bytes(), []).append(index)
    return {bucket: list(groups.values()) for bucket, groups in buckets.items()}
