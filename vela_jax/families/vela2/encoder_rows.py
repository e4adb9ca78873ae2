"""Which questions of a request share a sequence of the encoder member, what is cut, and what is read in windows.

(Vela 2.0 format, sections 4 and 5.4.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vela_jax.contract import InvalidRequest, ItemError, Row
from vela_jax.families.vela2.answers import Logits, SpanLogits
from vela_jax.families.vela2.encoder_layout import EncoderLayout, Laid, Schema, window_plan
from vela_jax.families.vela2.fit import Fitted, fit, unread
from vela_jax.families.vela2.plan import Outputs, Reading
from vela_jax.families.vela2.questions import Asked, Refused
from vela_jax.families.vela2.rows import TOO_LONG, UNCOVERED, Limits, Parts, apart, covers, over_budget

MAX_SIZE: Final = 2**27  # of one request, in numbers of 4 bytes: windows, spans and labels multiply its text
_TOKEN_SIZE: Final = 16  # numbers that a token stands for beside its logits: ids, marks, and copies of them


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """What a sequence holds of each part: tokens [start, end) by role, in part order."""

    kept: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A row of questions that fits: its sequences, and the part that they window if they are several."""

    cuts: tuple[_Cut, ...]
    windowed: str | None


@dataclass(frozen=True, slots=True, eq=False)
class EncoderReading:
    """Questions of one row, and its sequences."""

    asked: tuple[Asked, ...]
    schema: Schema
    sequences: tuple[Laid, ...]
    cuts: tuple[_Cut, ...]
    parts: Parts

    @property
    def rows(self) -> Sequence[Row]:
        """What the model reads."""
        return [laid.row for laid in self.sequences]

    @property
    def tokens(self) -> int:
        """Tokens of every sequence."""
        return sum(laid.row.length for laid in self.sequences)

    def logits(self, outputs: Outputs) -> Mapping[str, Logits | SpanLogits]:
        """Means over windows; of a set, the largest."""
        return {asked.id: self._of(asked, outputs) for asked in self.asked}

    def _of(self, asked: Asked, outputs: Outputs) -> Logits | SpanLogits:
        if asked.kind == "span":
            return self._span(asked, outputs)
        found = np.stack([output[self.schema.options[asked.id], 0] for output in outputs]).astype(np.float64)
        joined: Logits = found.max(axis=0) if asked.kind == "set" else found.mean(axis=0)
        return joined

    def _span(self, asked: Asked, outputs: Outputs) -> SpanLogits:
        (role,) = asked.roles
        part = self.parts.tokens[role]
        words = self.parts.words(role)
        if len(self.cuts) == 1:
            words = words.before(self.cuts[0].kept[role][1])
        labels = slice(1, 1 + len(asked.options))
        sums = np.zeros((words.count, len(asked.options)))
        counts = np.zeros(words.count)
        for laid, cut, output in zip(self.sequences, self.cuts, outputs, strict=True):
            start, end = cut.kept[role]
            low, high = np.searchsorted(words.first, [start, end])
            places = words.first[low:high] - start + laid.starts[role]
            sums[low:high] += output[places, labels]
            counts[low:high] += 1
        means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], UNCOVERED)
        return SpanLogits(part.text, words, means, part.count)


class EncoderRows:
    """Plans the rows of one request."""

    def __init__(self, layout: EncoderLayout, limits: Limits, parts: Parts) -> None:
        self._layout = layout
        self._limits = limits
        self._parts = parts
        self.refused: dict[str, Refused] = {}

    def plan(self, asked: Sequence[Asked]) -> tuple[Reading, ...]:
        """Readings of all questions that can be read; the others are found in `refused`."""
        open_ = [each for each in asked if not self._refuse_unread(each)]
        rows = apart(open_, self._must_split)
        readings: list[Reading] = []
        size = 0
        for row in rows:
            reading = self._read(row)
            if reading is None:
                continue
            readings.append(reading)
            size += sum(laid.row.length * (_TOKEN_SIZE + laid.columns) for laid in reading.sequences)
            if size > MAX_SIZE:
                raise InvalidRequest(
                    "the request makes inputs that are too large in all: ask fewer spans or labels at once, or send a "
                    "shorter state"
                )
        return tuple(readings)

    def _refuse_unread(self, asked: Asked) -> bool:
        """Refuse a question that must read a part whole which is longer than the budget."""
        refused = over_budget(asked, self._parts, self._limits)
        if refused is not None:
            self.refused[asked.id] = refused
        return refused is not None

    def _must_split(self, row: Sequence[Asked]) -> bool:
        """Whether a row of both kinds, those that cut and those that read all, would be read in windows."""
        if len({asked.truncate for asked in row}) == 1:
            return False
        placed = self._place(row, truncate=False)
        return placed is not None and placed.windowed is not None

    def _read(self, row: Sequence[Asked]) -> EncoderReading | None:
        placed = self._place(row, truncate=all(asked.truncate for asked in row))
        if placed is None:
            self._refuse_long(row)
            return None
        partial = [asked for asked in row if asked.full and not self._is_whole(placed, row)]
        if partial:
            self._refuse_long(partial)
            rest = [asked for asked in row if asked not in partial]
            return self._read(rest) if rest else None
        schema = self._layout.schema(row)
        ids = {role: tokens.ids for role, tokens in self._parts.tokens.items()}
        sequences = [
            self._layout.sequence(schema, {role: ids[role][low:high] for role, (low, high) in cut.kept.items()})
            for cut in placed.cuts
        ]
        return EncoderReading(tuple(row), schema, tuple(sequences), placed.cuts, self._parts)

    def _refuse_long(self, row: Sequence[Asked]) -> None:
        message = f"state and questions do not fit {self._limits.sequence} tokens"
        for asked in row:
            self.refused[asked.id] = Refused(asked.kind, ItemError.MAX_LENGTH_EXCEEDED, message, TOO_LONG)

    def _place(self, row: Sequence[Asked], *, truncate: bool) -> _Placed | None:
        """How the parts are cut or windowed for a row; None when even so it does not fit."""
        most = self._limits.truncate if truncate else self._limits.scan
        lengths = {role: min(tokens.count, most) for role, tokens in self._parts.tokens.items()}
        fitted = self._fit(row, lengths)
        if fitted is None:
            return None
        role = _window_role(row)
        if truncate or fitted.cut == 0 or role is None or fitted.kept[role] >= lengths[role]:
            return _Placed((_Cut({each: (0, kept) for each, kept in fitted.kept.items()}),), None)
        windows = window_plan(lengths[role], fitted.kept[role], self._limits.overlap)
        return _Placed(tuple(self._window(row, lengths, role, window) for window in windows), role)

    def _window(self, row: Sequence[Asked], lengths: Mapping[str, int], role: str, window: tuple[int, int]) -> _Cut:
        """What a sequence holds whose part `role` is only a window of itself."""
        start, end = window
        fitted = self._fit(row, {**lengths, role: end - start})
        assert fitted is not None, "a window is no longer than what fitted before"
        ranges = {each: (0, kept) for each, kept in fitted.kept.items()}
        return _Cut({**ranges, role: (start, start + fitted.kept[role])})

    def _fit(self, row: Sequence[Asked], lengths: Mapping[str, int]) -> Fitted | None:
        protected = {role for asked in row for role in asked.roles}
        cost = sum(self._layout.cost(asked) for asked in row)
        return fit(cost, lengths, self._limits.sequence, protected, unread(list(lengths), protected))

    def _is_whole(self, placed: _Placed, row: Sequence[Asked]) -> bool:
        """Whether the sequences hold every token of the state, and every word of a span's part in one piece."""
        for role, tokens in self._parts.tokens.items():
            ranges = [cut.kept[role] for cut in placed.cuts]
            if role != placed.windowed:
                if any(kept != (0, tokens.count) for kept in ranges):
                    return False
            elif not covers(ranges, tokens.count):
                return False
        spans = {asked.roles[0] for asked in row if asked.kind == "span"}
        if placed.windowed not in spans:
            return True
        return self._parts.hold_words(placed.windowed, [cut.kept[placed.windowed] for cut in placed.cuts])


def _window_role(row: Sequence[Asked]) -> str | None:
    """The part that a row may be read in windows of: its span's, else the only one that its questions read."""
    for asked in row:
        if asked.kind == "span":
            return asked.roles[0]
    roles = {asked.roles for asked in row}
    (first, *others) = roles
    return first[0] if not others and len(first) == 1 else None
