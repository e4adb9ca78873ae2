"""What the rows of all members share: limits, parts read once, which questions go together.

(Vela 2.0 format, sections 4.1 and 4.3.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vela_jax.contract import ItemError
from vela_jax.families.vela2.questions import Asked, Refused
from vela_jax.families.vela2.texts import PartTokens
from vela_jax.families.vela2.words import Words

UNCOVERED: Final = -30.0  # logit of a word that no window holds
TOO_LONG: Final = "question_tokens"


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens of one sequence; of a part read in windows; of a part that is cut instead; shared by windows."""

    sequence: int
    scan: int
    truncate: int
    overlap: int


class Parts:
    """The parts of a request as tokens, with their words found once."""

    def __init__(self, tokens: Mapping[str, PartTokens]) -> None:
        self.tokens = tokens
        self._words: dict[str, Words] = {}

    def words(self, role: str) -> Words:
        """Words of a part."""
        if role not in self._words:
            self._words[role] = self.tokens[role].words()
        return self._words[role]

    def hold_words(self, role: str, ranges: Sequence[tuple[int, int]]) -> bool:
        """Whether each word of a part lies in one of the ranges of its tokens, in one piece."""
        words = self.words(role)
        starts = np.maximum.accumulate(self.tokens[role].offsets[:, 0])
        last = np.searchsorted(starts, words.spans[:, 1]) - 1
        held = np.zeros(words.count, np.bool_)
        for start, end in ranges:
            held |= (words.first >= start) & (last < end)
        return bool(held.all())


def grouped(asked: Sequence[Asked]) -> list[list[Asked]]:
    """Rows: all questions but spans with the first span, then a row for each further span."""
    spans = [each for each in asked if each.kind == "span"]
    first = [each for each in asked if each.kind != "span" or each is spans[0]]
    return [row for row in (first, *([span] for span in spans[1:])) if row]


def apart(asked: Sequence[Asked], must_split: Callable[[Sequence[Asked]], bool]) -> list[list[Asked]]:
    """Rows, questions that cut kept from those that read all where a row of both must be split."""
    rows = grouped(asked)
    if not any(must_split(row) for row in rows):
        return rows
    kinds = ([each for each in asked if each.truncate is cut] for cut in (False, True))
    return [row for kind in kinds for row in grouped(kind)]


def over_budget(asked: Asked, parts: Parts, limits: Limits) -> Refused | None:
    """The refusal of a question that must read a part whole which is longer than the budget."""
    needed: Iterable[str] = parts.tokens if asked.full else () if asked.truncate else asked.roles
    over = [role for role in needed if not parts.tokens[role].complete]
    if not over:
        return None
    message = f"the {over[0]} part has more than {limits.scan} tokens, the scan budget"
    return Refused(asked.kind, ItemError.SCAN_BUDGET_EXCEEDED, message)


def covers(ranges: Sequence[tuple[int, int]], total: int) -> bool:
    """Whether ascending ranges of tokens leave none of `total` out."""
    reached = 0
    for start, end in ranges:
        if start > reached:
            return False
        reached = max(reached, end)
    return reached >= total
