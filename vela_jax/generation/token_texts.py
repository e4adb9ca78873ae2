"""The text of single tokens, of which a character may need several (token-in/token-out contract, section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vela_jax.generation.detokenizer import REPLACEMENT
from vela_jax.generation.vocabulary import Vocabulary

MAX_CONTEXT: Final = 4
"""Ids before a token that can tell which character it ends."""


class TokenTexts:
    """Tells the tokens of one sequence in order: the last token of a split character is the whole of it, the others "".

    `context` are the ids before the first one.
    """

    def __init__(self, vocabulary: Vocabulary, context: Sequence[int] = ()) -> None:
        self._vocabulary = vocabulary
        self._context = list(context)

    def text(self, token_id: int) -> str | None:
        """Give the text of a token that may come next, None for an id outside the vocabulary."""
        piece = self._vocabulary.piece(token_id)
        if piece is None:
            return None
        text = self._vocabulary.join([piece])
        return self._corrected(token_id) if text.endswith(REPLACEMENT) else text

    def advance(self, token_id: int) -> None:
        """Go behind the token that came."""
        self._context = advance_context(self._context, [token_id])

    def _corrected(self, token_id: int) -> str:
        """Give what an id adds to those before it, "" while it ends inside a character."""
        decode = self._vocabulary.decode
        for count in range(1, min(len(self._context), MAX_CONTEXT) + 1):
            before = self._context[-count:]
            full = decode([*before, token_id])
            if full.endswith(REPLACEMENT):
                continue
            whole = count
            while whole and decode([before[whole - 1]]).endswith(REPLACEMENT):
                whole -= 1
            prefix = decode(before[:whole]) if whole else ""
            return full[_shared_length(full, prefix) :]
        return ""


def advance_context(context: Sequence[int], token_ids: Sequence[int]) -> list[int]:
    """Give the context behind more ids."""
    return [*context, *token_ids][-MAX_CONTEXT:]


def _shared_length(first: str, second: str) -> int:
    """Give the length of the longest common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))
