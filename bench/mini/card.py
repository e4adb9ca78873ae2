"""The model card of a package: what it is, what it learned from, its figures and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.mini.texts.sources import SOURCES


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a card says of one model."""

    title: str
    text: str  # what it is for
    shape: str  # its network in words
    files: str  # its format
    most_tokens: int
    trained: str = ""  # for how long, and on what


def write_card(directory: Path, about: About, values: int, figures: Mapping[str, Any]) -> None:
    """Write README.md beside a package's other files, whose size it names."""
    megabytes = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6
    text = _card(about, f"{values:,} values, {megabytes:.1f} MB", figures)
    (directory / "README.md").write_text(text, encoding="utf-8")


def notice() -> str:
    """The text of a package's NOTICE."""
    return "".join(f"{line}\n" for line in _sources())


def _sources() -> list[str]:
    return [f"{source.name}: {source.licence}. {source.notice}".strip() for source in SOURCES]


def _card(about: About, size: str, figures: Mapping[str, Any]) -> str:
    sources = "\n".join(f"- {line}" for line in _sources())
    rows = "\n".join(f"| {name} | {value} |" for name, value in figures.items())
    trained = f" Training: {about.trained}." if about.trained else ""
    judged = f"| Figure | Value |\n| --- | --- |\n{rows}" if rows else "Not judged."
    return f"""---
license: apache-2.0
language: en
---
# {about.title}

{about.text} A small model for demonstrations: {about.shape}, {size}.

## Files

{about.files}

## What it learned from

{sources}

Texts are sentences filled from tables, phrases and definitions; none is about a real person.{trained}

## Figures

On texts of held-out patterns, topics, names and words, made in the same way as those of training:

{judged}

## Limits

English only; short texts (it was trained on sentences, and reads at most {about.most_tokens} tokens at once). Its
patterns are few, so texts from elsewhere are read worse than the figures say. It shows how such a model is served and
is no basis for decisions about people or for protection.
"""
