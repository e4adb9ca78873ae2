"""Reasoning between `<think>` and `</think>`, at once and in parts (token-in/token-out contract, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vela_jax.generation.parsers.marks import MarkSearch, held_length
from vela_jax.generation.vocabulary import Vocabulary

START: Final = "<think>"
END: Final = "</think>"


def prompt_state(prompt_ids: Sequence[int], vocabulary: Vocabulary) -> bool | None:
    """Tell by the last mark in a prompt whether reasoning is over (True) or open (False); None without a mark."""
    start, end = vocabulary.id_of(START), vocabulary.id_of(END)
    for token_id in reversed(prompt_ids):
        if token_id == end:
            return True
        if token_id == start:
            return False
    return None


def split(text: str, *, thinks: bool) -> tuple[str | None, str | None]:
    """Give reasoning and content of a whole text; without an end mark all is the one or, if not `thinks`, the other."""
    _, start, rest = text.partition(START)
    text = rest if start else text
    reasoning, end, content = text.partition(END)
    if end:
        return reasoning or None, content or None
    return (text or None, None) if thinks else (None, text or None)


class ReasoningStream:
    """Splits text that comes in parts; a start mark at its beginning belongs to neither side."""

    def __init__(self) -> None:
        self._opening: str | None = ""  # what came while a start mark may still come
        self._search = MarkSearch(END)
        self.is_over = False

    def push(self, text: str) -> tuple[str, str]:
        """Give the reasoning and the content that a part adds; all is content once reasoning is over."""
        if self.is_over:
            return "", text
        if self._opening is not None:
            text = self._open(self._opening + text)
        reasoning, content = self._search.push(text)
        self.is_over = content is not None
        return reasoning, content or ""

    def flush(self) -> str:
        """Give the reasoning that waited in vain for a mark."""
        opening, self._opening = self._opening or "", None
        return opening + self._search.flush()

    def _open(self, text: str) -> str:
        """Drop a start mark; keep back what may still become one."""
        trimmed = text.lstrip()
        if trimmed.startswith(START):
            self._opening = None
            return trimmed.removeprefix(START)
        if held_length(trimmed, START) == len(trimmed):  # nothing but white space, or a beginning of the mark
            self._opening = text
            return ""
        self._opening = None
        return text
