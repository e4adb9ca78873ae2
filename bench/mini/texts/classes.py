"""Closed sets of options with sentences for each: kinds of message, feelings, safety, tools, graded scales."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from bench.mini.texts.slots import fill
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import Block, blocks, parts


@dataclass(frozen=True, slots=True)
class Option:
    """An option: names, descriptions, ways to ask for it alone, and patterns of texts that it is right for."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    nouls: tuple[str, ...]
    patterns: tuple[str, ...]

    def text(self, rng: random.Random, split: Split) -> str:
        """A text that the option is right for, in a pattern of one side."""
        return fill(rng.choice(self.of(split)), rng, split)

    def of(self, split: Split) -> tuple[str, ...]:
        """The patterns of one side. The first ones are held out where chance holds out none, or all."""
        held = choose(self.patterns, Split.HELD)
        if not held or len(held) == len(self.patterns):
            held = self.patterns[:1]
        return held if split is Split.HELD else tuple(pattern for pattern in self.patterns if pattern not in held)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A question in several wordings, with its options; of a scale, from low to high."""

    wordings: tuple[str, ...]
    options: tuple[Option, ...]


@cache
def schemes() -> tuple[Scheme, ...]:
    """All closed sets of options."""
    return tuple(_scheme(block) for block in blocks("classes"))


@cache
def scales() -> tuple[Scheme, ...]:
    """All graded scales."""
    return tuple(_scale(block) for block in blocks("scales"))


def _scheme(block: Block) -> Scheme:
    return Scheme(parts(block.heading, "/"), tuple(_option(entry, lines) for entry, lines in block.entries))


def _option(entry: str, patterns: tuple[str, ...]) -> Option:
    head, _, nouls = entry.partition(" ? ")
    names, _, descriptions = head.partition(" = ")
    return Option(parts(names, "/"), parts(descriptions, ";"), parts(nouls, " / ") if nouls else (), patterns)


def _scale(block: Block) -> Scheme:
    levels = tuple(Option(parts(entry, " / "), (), (), lines) for entry, lines in block.entries)
    return Scheme(parts(block.heading, " / "), levels)
