"""Many tasks of one call: each model's group is admitted whole, the groups run at once (HTTP contract, section 11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from serving import card
from serving.live import LARGE, LiveModel, Outcome
from serving.loaded import LoadedModel
from serving.task import Task, refusal_of
from serving.timing import Timing
from vela_jax.contract import Answer

Count = Callable[[Answer], None]
"""Hears of every answer, for the metrics."""

Response = dict[str, Any] | Exception


async def answer_tasks(tasks: Sequence[Task | Exception], timing: Timing, size: int, count: Count) -> list[Response]:
    """The body of each task's answer, or why it is refused; fills in the phases of `timing` after `received`.

    Queue, forward and post are those of the group that is answered last.
    """
    groups: dict[LiveModel, list[Task]] = {}
    for task in tasks:
        if not isinstance(task, Exception):
            groups.setdefault(task.live, []).append(task)
    times = [Timing(received=timing.received) for _ in groups]
    running = zip(groups.items(), times, strict=True)
    if len(groups) == 1:
        found = [await _answer_group(live, group, time_, size, count) for (live, group), time_ in running]
    else:
        found = await asyncio.gather(
            *(_answer_group(live, group, time_, size, count) for (live, group), time_ in running)
        )
    _take_over(times, timing)
    done = {id(task): response for group in found for task, response in group}
    return [refusal_of(task) if isinstance(task, Exception) else done[id(task)] for task in tasks]


async def _answer_group(
    live: LiveModel, tasks: Sequence[Task], timing: Timing, size: int, count: Count
) -> list[tuple[Task, Response]]:
    outcomes = await live.answer_all(tasks, timing, size)

    def finish() -> list[tuple[Task, Response]]:
        finished = [_finish(task, each, live, timing, count) for task, each in zip(tasks, outcomes, strict=True)]
        return list(zip(tasks, finished, strict=True))

    return await live.here_or_on_pool(size > LARGE, finish)


def _finish(
    task: Task, outcomes: Sequence[Outcome] | Exception, live: LiveModel, timing: Timing, count: Count
) -> Response:
    if isinstance(outcomes, Exception):
        return refusal_of(outcomes)
    try:
        body, answer = task.finish(outcomes, lambda: _meta(live.loaded, timing))
    except Exception as error:
        return refusal_of(error)
    count(answer)
    return body


def _take_over(times: Sequence[Timing], timing: Timing) -> None:
    if not times:
        return
    last = max(times, key=lambda each: each.answered or 0.0)
    timing.planned = max((each.planned for each in times if each.planned is not None), default=None)
    timing.submitted, timing.answered = last.submitted, last.answered
    timing.forward, timing.last_forward_end = last.forward, last.last_forward_end
    timing.assembled = last.assembled


def _meta(loaded: LoadedModel, timing: Timing) -> dict[str, Any]:
    """The runtime's part of `meta` (HTTP contract, section 3.5)."""
    received = timing.received if timing.received is not None else time.monotonic()
    submitted, answered = timing.submitted or received, timing.answered or received
    return {
        "model_id": loaded.identity,
        "revision": loaded.provenance.revision,
        "model_sha256": loaded.provenance.model_sha256,
        "dtype": loaded.description.dtype,
        "numerics": loaded.numerics,
        "profile": card.PROFILE,
        "engine": loaded.engine_name,
        "accelerator": loaded.accelerator,
        "device": loaded.device,
        "queue_ms": round(1000 * (submitted - received), 3),
        "compute_ms": round(1000 * (answered - submitted), 3),
    }
