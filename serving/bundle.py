"""The form of a bundle: several surface requests in one call, each with a status of its own (HTTP contract, 11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from serving.errors import ErrorCode, RequestFailed
from vela_jax.contract import InvalidRequest, Surface
from vela_jax.surfaces.shown import kind_of, shown, shown_name

_MEMBERS: Final = ("options", "tasks")


@dataclass(frozen=True, slots=True)
class BundleTask:
    """A task as it came; its body is not yet judged."""

    id: str
    surface: Surface
    body: dict[str, Any]


def read_bundle(body: Any, max_tasks: int) -> tuple[list[BundleTask], float | None]:
    """The tasks and the deadline in milliseconds, None without one.

    Raises InvalidRequest for what has not the form, RequestFailed (413) for more than `max_tasks`.
    """
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, got {kind_of(body)}")
    unknown = sorted(name for name in body if name not in _MEMBERS)
    if unknown:
        raise InvalidRequest(f"unknown members {shown(unknown)}; a bundle takes {list(_MEMBERS)}")
    tasks = body.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        raise InvalidRequest(f"tasks must be a list of at least one task, got {kind_of(tasks)}")
    check_count(len(tasks), max_tasks, "tasks")
    deadline = _read_deadline(body.get("options"))
    read = [_read_task(task, f"tasks[{index}]") for index, task in enumerate(tasks)]
    _check_ids(read)
    return read, deadline


def check_count(count: int, most: int, what: str) -> None:
    """Refuse more requests in one call than `max_bundle_tasks`."""
    if count > most:
        message = f"{what} holds {count} requests; at most {most} are allowed (max_bundle_tasks)"
        raise RequestFailed(ErrorCode.REQUEST_TOO_LARGE, message, limit=most)


def _read_deadline(options: Any) -> float | None:
    options = options or {}
    if not isinstance(options, dict):
        raise InvalidRequest(f"options must be an object, got {kind_of(options)}")
    unknown = sorted(name for name in options if name != "deadline_ms")
    if unknown:
        raise InvalidRequest(f"unknown options {shown(unknown)}; a bundle takes ['deadline_ms']")
    deadline = options.get("deadline_ms")
    if deadline is None:
        return None
    if isinstance(deadline, bool) or not isinstance(deadline, int | float):
        raise InvalidRequest(f"options.deadline_ms must be a number, got {kind_of(deadline)}")
    if not (math.isfinite(deadline) and deadline > 0):
        raise InvalidRequest(f"options.deadline_ms must be a finite number above 0, got {deadline}")
    return float(deadline)


def _read_task(task: Any, where: str) -> BundleTask:
    if not isinstance(task, dict):
        raise InvalidRequest(f"{where} must be an object, got {kind_of(task)}")
    name = task.get("id")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{where}.id must be text of at least one character")
    surfaces = [surface for surface in Surface if surface in task]
    if len(surfaces) != 1:
        raise InvalidRequest(f"{where} must have exactly one of {[str(surface) for surface in Surface]}")
    unknown = sorted(member for member in task if member not in ("id", surfaces[0]))
    if unknown:
        raise InvalidRequest(f"{where} has unknown members {shown(unknown)}")
    body = task[surfaces[0]]
    if not isinstance(body, dict):
        raise InvalidRequest(f"{where}.{surfaces[0]} must be an object, got {kind_of(body)}")
    return BundleTask(name, surfaces[0], body)


def _check_ids(tasks: Sequence[BundleTask]) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise InvalidRequest(f"tasks: two have the id {shown_name(task.id)!r}")
        seen.add(task.id)
