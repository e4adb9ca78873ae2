"""From rows that wait to batches that know their owners and their place in the order of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from serving.scheduler.job import Job
from vela_jax.contract import Batch, Engine, Row, tokens_of

Owner = tuple[Job, int]
"""A job and the place of one of its rows."""


@dataclass(order=True, slots=True)
class Planned:
    """A batch that waits to run: ordered by the expected finish of its first owner, then by arrival."""

    finish: float
    sequence: int
    batch: Batch = field(compare=False)
    rows: Sequence[Row] = field(compare=False)  # of all owners planned together
    owners: list[Owner] = field(compare=False)  # aligned with batch.indices

    @property
    def jobs(self) -> list[Job]:
        """Jobs with rows in the batch, each once."""
        return list(dict.fromkeys(job for job, _ in self.owners))

    @property
    def wanted(self) -> bool:
        """Whether a job still waits for the batch."""
        return any(not job.closed for job, _ in self.owners)

    @property
    def is_shared(self) -> bool:
        """Whether rows of several requests are in the batch, those of jobs that wait no longer included."""
        return len({job.group for job, _ in self.owners}) > 1

    @property
    def tokens(self) -> int:
        """Unpadded tokens that the forward reads; rows that share a slot count once."""
        slots = {slot: self.rows[index] for slot, index in zip(self.batch.slots, self.batch.indices, strict=True)}
        own = sum(row.length for row in slots.values())
        return tokens_of(slots.values()) if self.batch.prefix else own


def plan(engine: Engine, owners: Sequence[Owner], sequence: Iterator[int]) -> list[Planned]:
    """Place the rows of all owners in batches.

    Raises ValueError when the engine does not place every row exactly once.
    """
    rows = [job.rows[index] for job, index in owners]
    batches = engine.batches(rows)
    placed = sorted(index for batch in batches for index in batch.indices)
    if placed != list(range(len(rows))):
        raise ValueError(f"the batch plan places {len(placed)} rows where {len(rows)} must be placed once each")
    return [_own(batch, rows, owners, next(sequence)) for batch in batches]


def _own(batch: Batch, rows: Sequence[Row], owners: Sequence[Owner], sequence: int) -> Planned:
    mine = [owners[index] for index in batch.indices]
    return Planned(min(job.finish for job, _ in mine), sequence, batch, rows, mine)
