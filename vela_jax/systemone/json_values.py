"""JSON values as states, instructions and descriptions, and their canonical text (System One semantics, section 4)."""

from __future__ import annotations

import json
import math
from typing import Any


def is_structured(value: Any) -> bool:
    """Whether a value is an object or array of JSON values with finite numbers and string keys throughout."""
    if not isinstance(value, dict | list):
        return False
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            if not all(isinstance(key, str) for key in current):
                return False
            pending.extend(current.values())
        elif isinstance(current, list):
            pending.extend(current)
        elif isinstance(current, float):
            if not math.isfinite(current):
                return False
        elif not isinstance(current, str | int | bool | None):
            return False
    return True


def is_content(value: Any) -> bool:
    """Whether a value may be instructions or a description: text that is not blank, an object, an array."""
    return bool(value.strip()) if isinstance(value, str) else is_structured(value)


def canonical_json(value: Any) -> str:
    """Keys sorted by code point, no spaces, non-ASCII literal. Raises RecursionError on very deep nesting."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_text(value: Any) -> str:
    """Text as it is, anything else as canonical JSON."""
    return value if isinstance(value, str) else canonical_json(value)
