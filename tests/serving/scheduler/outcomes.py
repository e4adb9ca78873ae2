"""What became of jobs."""

from __future__ import annotations

import numpy as np

from serving.errors import RequestFailed
from serving.scheduler import Job, Scheduler
from vela_jax.contract import EXPIRED, Result


def values(results: list[Result]) -> list[list[float]]:
    """Results as lists; an expired one is empty."""
    return [[] if result is EXPIRED else list(np.asarray(result)) for result in results]


async def outcome(scheduler: Scheduler, job: Job) -> str:
    """How a job ended: `answered`, `expired` or an error code."""
    try:
        results = await scheduler.wait(job)
    except RequestFailed as failed:
        return failed.code
    return "expired" if any(result is EXPIRED for result in results) else "answered"
