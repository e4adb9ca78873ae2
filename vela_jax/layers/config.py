"""Strict reading of a package's `config.json`: a value is what it should be, or an error names its key."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


class ConfigError(ValueError):
    """A config value that this project does not serve; the message names the key, what came and what is allowed."""


@dataclass(frozen=True, slots=True)
class ConfigReader:
    """A JSON object of a config; `where` is its dotted place, used in messages. A null value counts as absent."""

    values: Mapping[str, Any]
    where: str = ""

    def name(self, key: str) -> str:
        """The dotted name of `key`, as messages show it."""
        return f"{self.where}.{key}" if self.where else key

    def error(self, key: str, allowed: str) -> ConfigError:
        """The error of a `key` whose value is not allowed."""
        found = f"found {self.values[key]!r}" if key in self.values else "it is missing"
        return ConfigError(f"config.json: {self.name(key)} must be {allowed}; {found}")

    def get(self, key: str) -> Any:
        """The raw value, or None when absent."""
        return self.values.get(key)

    def integer(self, key: str, default: int | None = None, minimum: int = 1) -> int:
        """An integer of at least `minimum`; required when there is no default."""
        value = default if self.get(key) is None else self.values[key]
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise self.error(key, f"an integer of at least {minimum}")
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        """A finite number above zero; required when there is no default."""
        value = default if self.get(key) is None else self.values[key]
        if not isinstance(value, int | float) or isinstance(value, bool) or not (0 < value < math.inf):
            raise self.error(key, "a finite number above 0")
        return float(value)

    def number(self, key: str) -> float | None:
        """A finite number, or None when absent."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise self.error(key, "a finite number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """A boolean."""
        value = default if self.get(key) is None else self.values[key]
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def choice(self, key: str, allowed: Collection[str], default: str) -> str:
        """One of `allowed`."""
        value = default if self.get(key) is None else self.values[key]
        if not isinstance(value, str) or value not in allowed:
            raise self.error(key, "one of " + ", ".join(sorted(allowed)))
        return value

    def section(self, key: str) -> ConfigReader | None:
        """The reader of a nested object, or None when absent."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(key, "an object")
        return ConfigReader(value, self.name(key))
