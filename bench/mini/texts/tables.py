"""Reads the tables of this folder, which hold one entry a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, the entries under it, and the lines of each entry."""

    heading: str
    entries: tuple[tuple[str, tuple[str, ...]], ...]


def _lines(name: str) -> list[str]:
    text = files("bench.mini.texts").joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line]


@cache
def sentences(name: str) -> tuple[str, ...]:
    """The lines of a table."""
    return tuple(line for line in _lines(name) if not line.startswith("# "))


@cache
def cells(name: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a table, each as its cells between bars."""
    return tuple(parts(line, "|") for line in sentences(name))


@cache
def keyed(name: str) -> dict[str, tuple[str, ...]]:
    """The lines of a table by their first cell."""
    return {first: tuple(rest) for first, *rest in cells(name)}


@cache
def blocks(name: str) -> tuple[Block, ...]:
    """A table of headings (`# `), entries (at the margin) and lines (indented)."""
    return tuple(_blocks(_lines(name)))


def parts(text: str, mark: str) -> tuple[str, ...]:
    """The trimmed pieces of a text between marks."""
    return tuple(piece.strip() for piece in text.split(mark))


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    starts = [place for place, line in enumerate(lines) if line.startswith("# ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        entries: list[tuple[str, list[str]]] = []
        for line in lines[start + 1 : end]:
            if line.startswith(" "):
                entries[-1][1].append(line.strip())
            else:
                entries.append((line, []))
        yield Block(lines[start][2:], tuple((entry, tuple(under)) for entry, under in entries))
