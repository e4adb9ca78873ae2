"""Bounds of the work that one model has accepted and not yet answered (runtime rules, section 2)."""

from __future__ import annotations

from collections.abc import Sequence

from serving.errors import ErrorCode, RequestFailed


class Admission:
    """Counts pending jobs and tokens. Not safe for threads: the scheduler calls it under its lock."""

    def __init__(self, max_jobs: int, max_tokens: int) -> None:
        self.max_jobs = max_jobs
        self.max_tokens = max_tokens
        self.jobs = 0
        self.tokens = 0

    def admit(self, tokens: Sequence[int]) -> None:
        """Take one job for each entry of `tokens`, all or none.

        A job larger than `max_tokens` is still taken by a model with nothing pending.
        Raises RequestFailed `overloaded` when a bound would be passed.
        """
        if self.jobs + len(tokens) > self.max_jobs:
            raise _overloaded(f"{self.jobs} requests are pending on this model, {self.max_jobs} are allowed")
        added = sum(tokens)
        if self.jobs and self.tokens + added > self.max_tokens:
            raise _overloaded(
                f"{self.tokens} tokens are pending on this model and the request has {added}, "
                f"{self.max_tokens} are allowed"
            )
        self.jobs += len(tokens)
        self.tokens += added

    def release(self, tokens: int) -> None:
        """Let go of one admitted job."""
        self.jobs -= 1
        self.tokens -= tokens


def _overloaded(message: str) -> RequestFailed:
    return RequestFailed(ErrorCode.OVERLOADED, f"{message}; try again later")
