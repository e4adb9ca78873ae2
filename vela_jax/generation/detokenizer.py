"""Incremental detokenization: text of ids as they come, whole characters only (token-in/token-out contract, 10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from vela_jax.generation.vocabulary import Vocabulary

REPLACEMENT: Final = "\ufffd"
SEED_PIECES: Final = 7
"""Ids of the prompt that are read; what stands before them cannot change how the first output token reads."""
SEED_PREFIX: Final = 5
MAX_HELD: Final = 32
"""Pieces that are held back at most. A longer row of bytes that make no character is let out as it is: the work of a
step grows with what is held, and no text of a model comes near it."""


@dataclass(frozen=True, slots=True)
class Window:
    """The pieces that the text of the next id depends on.

    `pieces[prefix:read]` were emitted, those from `read` on are held back. Raises ValueError where that cannot be.
    """

    pieces: tuple[str, ...] = ()
    prefix: int = 0
    read: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.prefix <= self.read <= len(self.pieces):
            raise ValueError(
                f"prefix_offset {self.prefix} and read_offset {self.read} must be in this order within the "
                f"{len(self.pieces)} prev_tokens"
            )


def seed_window(vocabulary: Vocabulary, prompt_ids: Sequence[int], *, skip_special: bool) -> Window:
    """Give the window behind a prompt, so that the first output token keeps its leading space."""
    pieces = vocabulary.pieces(prompt_ids[-SEED_PIECES:], skip_special=skip_special)
    return Window(tuple(pieces), max(len(pieces) - SEED_PREFIX, 0), len(pieces))


class IncrementalDetokenizer:
    """Turns ids into text as they come; the join of its parts does not depend on how the ids are cut.

    `seed_ids` are the prompt's ids, of which the last few are read; `window` goes on where another one stopped.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        skip_special_tokens: bool = True,
        seed_ids: Sequence[int] = (),
        window: Window | None = None,
    ) -> None:
        if window is None:
            window = seed_window(vocabulary, seed_ids, skip_special=skip_special_tokens)
        self._vocabulary = vocabulary
        self._skipped = vocabulary.special_ids if skip_special_tokens else frozenset()
        self._pieces = list(window.pieces)
        self._prefix = window.prefix
        self._read = window.read
        self._emitted: str | None = None  # text of pieces[prefix:read], made when it is needed

    @property
    def window(self) -> Window:
        """What a detokenizer needs to go on from here."""
        return Window(tuple(self._pieces), self._prefix, self._read)

    def push(self, token_ids: Iterable[int]) -> str:
        """Give the text that these ids complete; an id outside the vocabulary is a piece without text."""
        return "".join([self._step(token_id) for token_id in token_ids])

    def flush(self) -> str:
        """Give what is held back without the unfinished character at its end."""
        text = self._vocabulary.join(self._pieces[self._prefix :])
        return text[len(self._text_emitted()) :].rstrip(REPLACEMENT)

    def _step(self, token_id: int) -> str:
        if token_id not in self._skipped:
            known = 0 <= token_id < self._vocabulary.size
            self._pieces.append((self._vocabulary.piece(token_id) or "") if known else "")
        emitted = self._text_emitted()
        text = self._vocabulary.join(self._pieces[self._prefix :])
        end = len(self._pieces)
        fresh = ""
        if len(text) > len(emitted) and not text.endswith(REPLACEMENT):
            fresh = text[len(emitted) :]
            self._prefix, self._read, self._emitted = self._read, end, None
        elif end - self._prefix > MAX_HELD:
            fresh = text[len(emitted) :]
            self._prefix, self._read, self._emitted = end - SEED_PREFIX, end, None
        if self._prefix:
            del self._pieces[: self._prefix]
            self._read -= self._prefix
            self._prefix = 0
        return fresh

    def _text_emitted(self) -> str:
        if self._emitted is None:
            self._emitted = self._vocabulary.join(self._pieces[self._prefix : self._read])
        return self._emitted
