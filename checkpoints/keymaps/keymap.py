"""Key maps: patterns of checkpoint keys, and the leaf of the param tree that each key fills.

A pattern is a checkpoint key in which `{name}` stands for a decimal number and `[text]` for text that may be absent:
`[model.]layers.{i}.attn.Wo.weight`. A path is a tuple of parts written with the same names; a part that is a single
`{name}` becomes an int (an element of an `nnx.List`), any other part a str (an attribute, or a key of an `nnx.Dict`).

The loader's use:

    match = key_map.match("model.layers.3.attn.Wo.weight")
    match.path                                   # ("backbone", "layers", 3, "attn", "Wo", "weight")
    match.transform.stored_shape(leaf.shape)     # the shape that the file must have
    match.transform.apply(array)                 # what goes into the leaf
    key_map.is_ignored("bert.pooler.dense.bias") # True: known, and not part of the network

Two keys of one file may map to one leaf (`model.norm.weight` and `norm.weight`); the loader refuses such a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

Path = tuple[str | int, ...]

_TOKEN = re.compile(r"\{(?P<number>\w+)\}|\[(?P<optional>[^\]]+)\]")


class Transform(StrEnum):
    """How a stored tensor becomes a leaf."""

    AS_STORED = "as_stored"
    ONLY_ROW = "only_row"  # stored [1, F], leaf [F]: the kernel of a product with one output

    def stored_shape(self, leaf_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that a file must have for a leaf of `leaf_shape`."""
        return (1, *leaf_shape) if self is Transform.ONLY_ROW else leaf_shape

    def apply(self, stored: NDArray[np.generic]) -> NDArray[np.generic]:
        """The leaf of a stored tensor that has `stored_shape`; a view of it."""
        return stored[0] if self is Transform.ONLY_ROW else stored


@dataclass(frozen=True, slots=True)
class Match:
    """The leaf that one key fills, and how."""

    path: Path
    transform: Transform


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of a table: keys like `key` fill the leaf at `path` through `transform`."""

    key: str
    path: tuple[str, ...]
    transform: Transform = Transform.AS_STORED


@dataclass(frozen=True, slots=True)
class KeyMap:
    """A table of rules, and patterns of keys that are known but not part of the network."""

    rules: tuple[Rule, ...]
    ignored: tuple[str, ...] = ()
    _compiled: tuple[re.Pattern[str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", tuple(_compile(rule.key) for rule in self.rules))

    def match(self, key: str) -> Match | None:
        """The leaf that `key` fills, or None when no rule knows it. The first rule that matches decides."""
        for rule, pattern in zip(self.rules, self._compiled, strict=True):
            found = pattern.fullmatch(key)
            if found is not None:
                return Match(tuple(_fill(part, found.groupdict()) for part in rule.path), rule.transform)
        return None

    def param_path(self, key: str) -> Path | None:
        """The path that `key` fills, or None when no rule knows it."""
        match = self.match(key)
        return None if match is None else match.path

    def is_ignored(self, key: str) -> bool:
        """True for a key that is known and fills no leaf."""
        return any(_compile(pattern).fullmatch(key) for pattern in self.ignored)


def merged(maps: Iterable[KeyMap]) -> KeyMap:
    """One map that knows what each of `maps` knows, in order."""
    maps = tuple(maps)
    return KeyMap(
        rules=tuple(rule for key_map in maps for rule in key_map.rules),
        ignored=tuple(pattern for key_map in maps for pattern in key_map.ignored),
    )


def _compile(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern; numbers are decimal without leading zeros."""
    parts: list[str] = []
    end = 0
    for token in _TOKEN.finditer(pattern):
        parts.append(re.escape(pattern[end : token.start()]))
        number, optional = token["number"], token["optional"]
        parts.append(f"(?P<{number}>0|[1-9][0-9]*)" if number else f"(?:{re.escape(optional)})?")
        end = token.end()
    parts.append(re.escape(pattern[end:]))
    return re.compile("".join(parts))


def _fill(part: str, numbers: dict[str, str]) -> str | int:
    """A part of a path with its numbers put in."""
    if part.startswith("{") and part[1:-1] in numbers:
        return int(numbers[part[1:-1]])
    return part.format_map(numbers)
