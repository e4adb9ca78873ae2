"""What a scheduler tells whoever counts its work."""

from __future__ import annotations

from typing import Protocol


class Events(Protocol):
    """Hears of a scheduler's work; called on the model's worker thread."""

    def job_started(self, waited: float) -> None:
        """The first forward of a job begins `waited` seconds after the job was queued."""

    def forward_done(self, seconds: float, rows: int, tokens: int) -> None:
        """A forward of `rows` items and `tokens` unpadded tokens ended, well or not."""

    def rows_expired(self, rows: int) -> None:
        """A job of so many rows passed its deadline unanswered."""


class Unobserved:
    """Hears and forgets: used until a model is ready, so that its own checks are not counted as traffic."""

    def job_started(self, waited: float) -> None:
        """Forget it."""

    def forward_done(self, seconds: float, rows: int, tokens: int) -> None:
        """Forget it."""

    def rows_expired(self, rows: int) -> None:
        """Forget it."""
