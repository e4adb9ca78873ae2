"""Batch plans: which rows run together, in which bucket and slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vela_jax.contract import Batch, Row
from vela_jax.forward.buckets import Ladder

Shape = tuple[int, int]  # (length bucket, depth)


def plan_batches(rows: Sequence[Row], lengths: Ladder, counts: Callable[[int], Ladder]) -> list[Batch]:
    """Place every row in one batch; rows with equal ids and depth share a slot.

    A batch holds rows of one length bucket and one depth, so that the shape a row runs in follows from the row
    alone. `counts` gives the row counts that a length bucket may use.
    """
    batches = []
    for (length, depth), groups in _by_shape(rows, lengths).items():
        for part in _parts(list(groups.values()), counts(length)):
            indices = [index for group in part for index in group]
            slots = [slot for slot, group in enumerate(part) for _ in group]
            count = counts(length).fit(len(part))
            batches.append(Batch(tuple(indices), tuple(slots), count, length, depth))
    return batches


def _by_shape(rows: Sequence[Row], lengths: Ladder) -> dict[Shape, dict[bytes, list[int]]]:
    """Indices of equal rows, by shape."""
    shapes: dict[Shape, dict[bytes, list[int]]] = {}
    for index, row in enumerate(rows):
        shape = (lengths.fit(row.length), row.readout.depth)
        shapes.setdefault(shape, {}).setdefault(row.ids.tobytes(), []).append(index)
    return shapes


def _parts(groups: list[list[int]], counts: Ladder) -> Iterator[list[list[int]]]:
    """Cut groups of equal rows into full batches of the largest count and a rest."""
    for start in range(0, len(groups), counts.largest):
        yield groups[start : start + counts.largest]
