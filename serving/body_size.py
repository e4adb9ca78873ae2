"""About how large a decoded body was on the wire, found without encoding it again."""

from __future__ import annotations

from typing import Any


def encoded_size(body: Any, enough: int) -> int:
    """Characters of a JSON value, counted until there are more than `enough`; never recursive."""
    size = 0
    pending = [body]
    while pending and size <= enough:
        value = pending.pop()
        size += 2
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, dict):
            size += sum(len(key) + 4 for key in value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
        elif value is not None:
            size += 4  # a number or a boolean, on average
    return size
