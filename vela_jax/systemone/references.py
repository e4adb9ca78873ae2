"""References to assets within texts: found, counted and replaced (System One semantics, section 7.3)."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from vela_jax.contract import InputRefused

MAX_USES: Final = 1024
"""Uses of assets in one state with its questions; each is one more image to read."""


class References:
    """The references of a request, to be looked for in its texts."""

    def __init__(self, references: Collection[str]) -> None:
        self._references = tuple(references)
        self._shortest = min(map(len, self._references), default=0)

    def __contains__(self, text: object) -> bool:
        return text in self._references

    def are_in(self, value: Any) -> bool:
        """Whether a text anywhere in a JSON value refers to an asset; object keys are no texts."""
        pending = [value]
        while pending:
            current = pending.pop()
            if isinstance(current, str):
                if any(reference in current for reference in self._references):
                    return True
            else:
                pending.extend(_children(current))
        return False

    def replace(self, value: Any, use: Callable[[str], str]) -> Any:
        """A JSON value with `use(reference)` in place of each reference, called in the order of the texts."""
        if not self._references:
            return value
        if isinstance(value, str):
            return self._replace_in_text(value, use)
        if isinstance(value, list):
            return [self.replace(member, use) for member in value]
        if isinstance(value, dict):
            return {key: self.replace(member, use) for key, member in value.items()}
        return value

    def _replace_in_text(self, text: str, use: Callable[[str], str]) -> str:
        """From left to right; where several references begin, the longest is meant."""
        if len(text) < self._shortest:
            return text
        found = [(text.find(reference), -len(reference), reference) for reference in self._references]
        waiting = [each for each in found if each[0] >= 0]
        heapq.heapify(waiting)
        pieces: list[str] = []
        end = 0
        while waiting:
            place, negative, reference = heapq.heappop(waiting)
            if place >= end:
                pieces += text[end:place], use(reference)
                end = place - negative
            following = text.find(reference, end)
            if following >= 0:
                heapq.heappush(waiting, (following, negative, reference))
        return text if end == 0 else "".join((*pieces, text[end:]))


class Uses:
    """The uses of assets in one state and its questions, in order; each gets a number among its kind."""

    def __init__(self, kinds: Mapping[str, str], counted: Mapping[str, int]) -> None:
        self._kinds = kinds  # of each reference: image or video
        self._counts = Counter(counted)
        self._uses = 0
        self.references: list[str] = []  # those since `take`

    def __call__(self, reference: str) -> str:
        """Note a use; give the text that stands in its place. Raises InputRefused beyond the bound."""
        if self._uses == MAX_USES:
            raise InputRefused(f"assets are used more than {MAX_USES} times")
        self._uses += 1
        kind = self._kinds[reference]
        self._counts[kind] += 1
        self.references.append(reference)
        return f"[{kind} {self._counts[kind]}]"

    def take(self) -> list[str]:
        """The references used since the last call, in order."""
        taken, self.references = self.references, []
        return taken


def _children(value: Any) -> Collection[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
