"""Reading only as much of a long text as a budget decides, with the tokens of whole-text reading.

A text is cut, the part before the cut is tokenized, and the tokens that cannot depend on what follows are kept
(Vela 1.0 format, section 9). How far that can be trusted is checked once for each tokenizer.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.text.cuts import find_boundary, find_piece, joins_left, kept_before_word, kept_in_run, solid_length
from vela_jax.text.selfcheck import Trust, characters_per_token, check_tokenizer
from vela_jax.text.tokenizer import Encoded, TextTokenizer

_CHARACTERS_PER_NEEDED_TOKEN: Final = 6
_SLACK: Final = 1024
_CUT_SEARCH: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The first tokens of a text: all of them when `complete`, else at least as many as were needed."""

    ids: NDArray[np.int32]  # [S]
    offsets: NDArray[np.int32]  # [S 2], code points of the text as sent
    complete: bool
    end: int  # characters that the tokenizer was shown

    @property
    def count(self) -> int:
        """Tokens read: the text's own number, or when not complete a lower bound of it."""
        return int(self.ids.shape[0])


@dataclass(frozen=True, slots=True)
class _Cut:
    position: int
    is_boundary: bool  # of an enabled class, else inside a run


def reach(need: int) -> int:
    """Characters that should hold `need` tokens; texts up to this length are always read whole."""
    return _CHARACTERS_PER_NEEDED_TOKEN * max(1, need) + _SLACK


class BoundedReader:
    """Reads long texts in part. All methods may be called from any thread."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._trust: Trust | None = None
        self._has_coverage = False
        self._characters_per_token: int | None = None

    def check(self) -> Trust:
        """Find out what this tokenizer allows, once; takes about half a second.

        A long text calls it when nobody has before: call it at load to keep it off the first request.
        """
        if self._trust is None:
            coverage = self.characters_per_token
            with self._lock:
                if self._trust is None:
                    self._trust = check_tokenizer(self._tokenizer, coverage)
        return self._trust

    @property
    def characters_per_token(self) -> int | None:
        """The most characters of a text that one token covers, None when the tokenizer has no such bound."""
        if not self._has_coverage:
            with self._lock:
                if not self._has_coverage:
                    self._characters_per_token = characters_per_token(self._tokenizer)
                    self._has_coverage = True
        return self._characters_per_token

    def surely_over(self, text: str, limit: int) -> bool:
        """Whether `text` is so long that it must have more than `limit` content tokens; reads nothing."""
        limit = max(0, limit)
        if len(text) <= limit:  # a token covers a character at least: no need to know the bound
            return False
        bound = self.characters_per_token
        return bound is not None and len(text) > limit * bound

    def read(self, text: str, need: int) -> Reading:
        """Give the whole text's first tokens: all of them, or at least `need` (1 at least)."""
        need = max(1, need)
        start = reach(need)
        if len(text) <= start:
            return self._whole(text)
        trust = self.check()
        while start < len(text):
            cut = _next_cut(text, start, trust)
            if cut is None:
                break
            encoded = self._before(text, cut, need, trust)
            if encoded is not None:
                return Reading(encoded.ids, encoded.offsets, complete=False, end=cut.position)
            start = 2 * cut.position
        return self._whole(text)

    def _whole(self, text: str) -> Reading:
        encoded = self._tokenizer.encode(text)
        return Reading(encoded.ids, encoded.offsets, complete=True, end=len(text))

    def _before(self, text: str, cut: _Cut, need: int, trust: Trust) -> Encoded | None:
        """Give the tokens to keep of the part before the cut, None when they are fewer than needed."""
        part = text[: cut.position]
        solid = solid_length(part)
        encoded, words = self._tokenizer.encode_words(part)
        kept = kept_before_word(encoded, words, solid, trust.lookback) if cut.is_boundary else 0
        if kept < need and trust.in_run and not joins_left(text[cut.position]):
            kept = max(kept, kept_in_run(encoded, cut.position if trust.in_whitespace else solid))
        return encoded.first(kept) if kept >= need else None


def _next_cut(text: str, start: int, trust: Trust) -> _Cut | None:
    """Prefer a boundary near `start`, then a place inside a run near it, then the first boundary at all."""
    near = start + _CUT_SEARCH
    boundary = find_boundary(text, start, near, trust.classes) if trust.classes else None
    if boundary is None and trust.in_run:
        piece = find_piece(text, start, near)
        if piece is not None:
            return _Cut(piece, is_boundary=False)
    if boundary is None and trust.classes:
        boundary = find_boundary(text, near, len(text), trust.classes)
    return None if boundary is None else _Cut(boundary, is_boundary=True)
