"""What a client made up, as messages show it: bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

NAMES_SHOWN: Final = 16
NAME_SHOWN: Final = 80  # characters


def shown(names: Sequence[str]) -> str:
    """A list of names: long names are cut, and so is a long list."""
    cut = [shown_name(name) for name in names[:NAMES_SHOWN]]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{cut}{more}"


def shown_name(name: str) -> str:
    """One name, cut when it is long."""
    return name if len(name) <= NAME_SHOWN else f"{name[:NAME_SHOWN]}..."


def kind_of(value: Any) -> str:
    """Name a JSON type."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
