"""What a scheduler tells whoever counts its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Forward:
    """One forward that ended, well or not."""

    seconds: float
    rows: int  # items that it answered
    tokens: int  # read, without padding; items that share a slot count once
    length: int  # of the bucket: tokens of a padded row
    padding: int  # positions that held no token


class Events(Protocol):
    """Hears of a scheduler's work; called on the model's worker thread."""

    def job_started(self, waited: float) -> None:
        """The first forward of a job begins `waited` seconds after the job was queued."""

    def forward_done(self, forward: Forward) -> None:
        """A forward ended."""

    def rows_expired(self, rows: int) -> None:
        """A job of so many rows passed its deadline unanswered."""


class Unobserved:
    """Hears and forgets: used until a model is ready, so that its own checks are not counted as traffic."""

    def job_started(self, waited: float) -> None:
        """Forget it."""

    def forward_done(self, forward: Forward) -> None:
        """Forget it."""

    def rows_expired(self, rows: int) -> None:
        """Forget it."""
