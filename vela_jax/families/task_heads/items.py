"""Items of one request: each is planned by itself, and fails or is answered by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import InvalidRequest, ItemError, Missing, Result, Row
from vela_jax.surfaces.deadline import is_past_deadline
from vela_jax.surfaces.usage import ItemUsage

MAX_ROW_TOKENS: Final = 2**25  # 128 MiB of ids: the most documents at the longest input
PLANNED_ANYWAY: Final = 2**16  # tokens: their usage is counted even when their deadline passes before they run
Outputs = Sequence[NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Failed:
    """An item without an answer; `tokens` is what it adds to the request's usage."""

    error: ItemError
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """An item that runs: its rows, and how their outputs become the members of its result."""

    rows: tuple[Row, ...]
    usage: ItemUsage
    finish: Callable[[Outputs], dict[str, Any]]


Item = Failed | Planned


def plan_each(values: Iterable[Any], plan: Callable[[Any], Item]) -> tuple[Item, ...]:
    """Plan the items one by one, within the size of a request and until its deadline."""
    items: list[Item] = []
    tokens = 0
    for value in values:
        item = Failed(ItemError.DEADLINE_EXCEEDED) if is_too_late(tokens) else plan(value)
        items.append(item)
        if isinstance(item, Planned):
            tokens += sum(row.length for row in item.rows)
            check_size(tokens)
    return tuple(items)


def rows_of(items: Sequence[Item]) -> list[Row]:
    """Rows of all items, in order."""
    return [row for item in items if isinstance(item, Planned) for row in item.rows]


def tokens_of(items: Sequence[Item]) -> int:
    """What the items add to the request's usage."""
    return sum(item.tokens if isinstance(item, Failed) else item.usage.tokens for item in items)


def outcomes(items: Sequence[Item], results: Sequence[Result]) -> list[Outputs | ItemError]:
    """Each item's outputs, or why it has none: failed in planning, expired, or not finite."""
    found: list[Outputs | ItemError] = []
    start = 0
    for item in items:
        if isinstance(item, Failed):
            found.append(item.error)
            continue
        end = start + len(item.rows)
        found.append(judge(results[start:end]))
        start = end
    return found


def judge(results: Sequence[Result]) -> Outputs | ItemError:
    """The outputs of an item's rows if every row ran and gave finite numbers."""
    arrays = []
    for result in results:
        if isinstance(result, Missing):
            return ItemError.DEADLINE_EXCEEDED
        arrays.append(result)
    if not all(np.isfinite(array).all() for array in arrays):
        return ItemError.INVALID_MODEL_OUTPUT
    return arrays


def is_too_late(tokens: int) -> bool:
    """Whether a request that has planned so many tokens plans no more, since its deadline has passed."""
    return tokens > PLANNED_ANYWAY and is_past_deadline()


def check_size(tokens: int) -> None:
    """Refuse a request whose rows would fill the memory: overlapping windows and shared texts multiply its tokens."""
    if tokens > MAX_ROW_TOKENS:
        raise InvalidRequest(
            f"the request makes rows of more than {MAX_ROW_TOKENS} tokens in all; send fewer items or windows at once"
        )
