"""Marks in text that comes in parts: what must wait because it may be the beginning of one."""

from __future__ import annotations


def held_length(text: str, mark: str) -> int:
    """Give how many characters at the end of `text` are a beginning of `mark`, the whole of it aside."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if mark.startswith(text[-length:]):
            return length
    return 0


class MarkSearch:
    """Lets text through up to a mark; a beginning of the mark at the end of what came waits for more."""

    __slots__ = ("_held", "_mark")

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._held = ""

    def push(self, text: str) -> tuple[str, str | None]:
        """Give what stands before the mark, and what follows it, None while the mark did not come."""
        text = self._held + text
        before, mark, after = text.partition(self._mark)
        if mark:
            self._held = ""
            return before, after
        keep = len(text) - held_length(text, self._mark)
        self._held = text[keep:]
        return text[:keep], None

    def flush(self) -> str:
        """Give what waited in vain."""
        held, self._held = self._held, ""
        return held
