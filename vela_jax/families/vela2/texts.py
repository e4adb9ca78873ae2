"""Texts as tokens: the schema's pieces, and a state's parts within a budget (Vela 2.0 format, sections 2.4 and 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.families.vela2.words import Words, find_words
from vela_jax.text.bounds import BoundedReader
from vela_jax.text.tokenizer import TextTokenizer

KEPT_TEXTS: Final = 8192
KEPT_CHARACTERS: Final = 1024  # of a text whose ids are kept


class Pieces:
    """Ids of texts that are tokenized alone; those of short texts are kept. May be called from any thread."""

    def __init__(self, tokenizer: TextTokenizer, limit: int) -> None:
        self.reader = BoundedReader(tokenizer)
        self._limit = limit
        self._kept = lru_cache(KEPT_TEXTS)(tokenizer.encode_ids)

    def ids(self, text: str) -> NDArray[np.int32]:
        """The ids [S] of a text; of one that no sequence can hold, more than the limit of its first ones."""
        if len(text) <= KEPT_CHARACTERS:
            return self._kept(text)
        return self.reader.read(text, self._limit + 1).ids


@dataclass(frozen=True, slots=True, eq=False)
class PartTokens:
    """A part of a state as tokens: the whole of it, or the first ones that the budget allows."""

    text: str  # characters that the tokens cover
    ids: NDArray[np.int32]  # [S]
    offsets: NDArray[np.int32]  # [S 2]
    complete: bool

    @property
    def count(self) -> int:
        """Tokens of the part."""
        return len(self.ids)

    def words(self) -> Words:
        """Words of the part, by the tokens that they begin with."""
        return find_words(self.text, self.offsets)


def read_parts(pieces: Pieces, parts: Mapping[str, str], budget: int) -> dict[str, PartTokens]:
    """Tokenize the parts, by role, as far as `budget` tokens of each."""
    return {role: _read_part(pieces, text, budget) for role, text in parts.items()}


def _read_part(pieces: Pieces, text: str, budget: int) -> PartTokens:
    reading = pieces.reader.read(text, budget + 1)
    if reading.complete and reading.count <= budget:
        return PartTokens(text, reading.ids, reading.offsets, complete=True)
    offsets = reading.offsets[:budget]
    end = int(offsets[:, 1].max(initial=0))
    return PartTokens(text[:end], reading.ids[:budget], offsets, complete=False)
