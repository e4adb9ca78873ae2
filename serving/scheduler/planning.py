"""From jobs taken together to batches that know their owners and their place in the order of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from serving.scheduler.job import Job
from vela_jax.contract import Batch, Engine, Row


@dataclass(order=True, slots=True)
class Planned:
    """A batch that waits to run: ordered by the expected finish of its first owner, then by arrival."""

    finish: float
    sequence: int
    batch: Batch = field(compare=False)
    rows: Sequence[Row] = field(compare=False)  # of all jobs taken together
    owners: list[tuple[Job, int]] = field(compare=False)  # aligned with batch.indices: job, row of the job

    @property
    def jobs(self) -> list[Job]:
        """Jobs with rows in the batch, each once."""
        return list(dict.fromkeys(job for job, _ in self.owners))

    @property
    def wanted(self) -> bool:
        """Whether a job still waits for the batch."""
        return any(not job.closed for job, _ in self.owners)

    @property
    def tokens(self) -> int:
        """Unpadded tokens that the forward reads; rows that share a slot count once."""
        lengths = {
            slot: self.rows[index].length for slot, index in zip(self.batch.slots, self.batch.indices, strict=True)
        }
        return sum(lengths.values())


def plan(engine: Engine, jobs: Sequence[Job], seconds_per_token: float, sequence: Iterator[int]) -> list[Planned]:
    """Place the rows of all jobs in batches.

    Raises ValueError when the engine does not place every row exactly once.
    """
    rows = [row for job in jobs for row in job.rows]
    owners = [(job, index) for job in jobs for index in range(len(job.rows))]
    batches = engine.batches(rows)
    placed = sorted(index for batch in batches for index in batch.indices)
    if placed != list(range(len(rows))):
        raise ValueError(f"the batch plan places {len(placed)} rows where {len(rows)} must be placed once each")
    finish = {job: job.enqueued + job.tokens * seconds_per_token for job in jobs}
    return [_own(batch, rows, owners, finish, next(sequence)) for batch in batches]


def _own(
    batch: Batch, rows: Sequence[Row], owners: Sequence[tuple[Job, int]], finish: dict[Job, float], sequence: int
) -> Planned:
    mine = [owners[index] for index in batch.indices]
    return Planned(min(finish[job] for job, _ in mine), sequence, batch, rows, mine)
