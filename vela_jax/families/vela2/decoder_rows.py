"""Which questions of a request share a tree of a decoder member, what is cut, and what is read in windows.

(Vela 2.0 format, sections 4 and 7.) A row is one question's block, and the state before it is a prefix which the rows
of a tree share: its questions do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vela_jax.contract import InvalidRequest, ItemError, Prefix, Readout, Row, tokens_of
from vela_jax.families.vela2.answers import BROAD, Logits, SpanLogits
from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.decoder_dispatch import Dispatch, dispatch
from vela_jax.families.vela2.decoder_layout import Block, DecoderLayout, Ids, SpanLayout, Window, word_windows
from vela_jax.families.vela2.decoder_network import MARKS, OPTIONS, SET, readout_name
from vela_jax.families.vela2.fit import Fitted, fit, unread
from vela_jax.families.vela2.plan import Outputs, Reading
from vela_jax.families.vela2.questions import Asked, Refused
from vela_jax.families.vela2.rows import TOO_LONG, UNCOVERED, Limits, Parts, apart, covers, over_budget
from vela_jax.families.vela2.texts import PartTokens
from vela_jax.families.vela2.words import Words

MAX_ROW_TOKENS: Final = 2**24  # of one request: windows and span questions multiply its text


@dataclass(frozen=True, slots=True)
class DecoderMember:
    """What a decoder's rows depend on beside the request."""

    layout: DecoderLayout
    spans: SpanLayout
    calibration: Calibration
    has_broad: bool
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class OptionsRow:
    """A question that is no span: its row, and where its options end."""

    asked: Asked
    row: Row
    places: Ids

    @property
    def rows(self) -> Sequence[Row]:
        """What the model reads."""
        return [self.row]

    def logits(self, outputs: Outputs) -> Logits:
        """Logits of the options, the one that abstains last."""
        (output,) = outputs
        found: Logits = output[self.places].astype(np.float64)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class TargetRow:
    """A span question's row: its text holds the tokens [start, end) of the part, from `place` on."""

    row: Row
    start: int
    end: int
    place: int


@dataclass(frozen=True, slots=True, eq=False)
class SpanRows:
    """A span question: its rows, one for each window of its target."""

    asked: Asked
    targets: tuple[TargetRow, ...]
    part: PartTokens
    words: Words  # those that can be labelled
    head: str | None

    @property
    def rows(self) -> Sequence[Row]:
        """What the model reads."""
        return [target.row for target in self.targets]

    def logits(self, outputs: Outputs) -> SpanLogits:
        """Each word's logits, their mean over the windows that hold it."""
        labels = len(self.asked.options)
        sums = np.zeros((self.words.count, labels))
        counts = np.zeros(self.words.count)
        for target, output in zip(self.targets, outputs, strict=True):
            low, high = np.searchsorted(self.words.first, [target.start, target.end])
            sums[low:high] += output[self.words.first[low:high] - target.start + target.place, :labels]
            counts[low:high] += 1
        means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], UNCOVERED)
        return SpanLogits(self.part.text, self.words, means, self.part.count, self.head)


@dataclass(frozen=True, slots=True, eq=False)
class DecoderReading:
    """The questions of one tree. `tokens` counts its prefix once, its blocks, and the trees of windows."""

    questions: tuple[OptionsRow | SpanRows, ...]
    tokens: int

    @property
    def asked(self) -> Sequence[Asked]:
        """The questions."""
        return [each.asked for each in self.questions]

    @property
    def rows(self) -> Sequence[Row]:
        """What the model reads."""
        return [row for each in self.questions for row in each.rows]

    def logits(self, outputs: Outputs) -> Mapping[str, Logits | SpanLogits]:
        """Logits by question ID."""
        found: dict[str, Logits | SpanLogits] = {}
        start = 0
        for each in self.questions:
            end = start + len(each.rows)
            found[each.asked.id] = each.logits(outputs[start:end])
            start = end
        return found


class _TooLong(Exception):
    """A question's row would not fit the model, however the parts are cut."""

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self.asked = asked


class DecoderRows:
    """Plans the rows of one request."""

    def __init__(self, member: DecoderMember, limits: Limits, parts: Parts) -> None:
        self._member = member
        self._layout = member.layout
        self._limits = limits
        self._parts = parts
        self.refused: dict[str, Refused] = {}

    def plan(self, asked: Sequence[Asked]) -> tuple[Reading, ...]:
        """Readings of all questions that can be read; the others are found in `refused`."""
        open_ = [each for each in asked if not self._refuse_unread(each)]
        trees = apart(open_, self._must_split)
        readings = [reading for tree in trees if (reading := self._read(tree)) is not None]
        tokens = tokens_of(row for reading in readings for row in reading.rows)
        if tokens > MAX_ROW_TOKENS:
            raise InvalidRequest(
                f"the request makes inputs of {tokens} tokens in all, at most {MAX_ROW_TOKENS} are read: ask fewer "
                "questions at once or send a shorter state"
            )
        return tuple(readings)

    def _refuse_unread(self, asked: Asked) -> bool:
        """Refuse a question that must read a part whole which is longer than the budget."""
        refused = over_budget(asked, self._parts, self._limits)
        if refused is not None:
            self.refused[asked.id] = refused
        return refused is not None

    def _must_split(self, tree: Sequence[Asked]) -> bool:
        """Whether a tree of both kinds, questions that cut and those that read all, has a span read in windows."""
        span = _span_of(tree)
        mixed = len({asked.truncate for asked in tree}) > 1
        return mixed and span is not None and self._is_windowed(span, self._lengths(truncate=False))

    def _lengths(self, *, truncate: bool) -> dict[str, int]:
        """Tokens of the parts that may be read."""
        most = self._limits.truncate if truncate else self._limits.scan
        return {role: min(tokens.count, most) for role, tokens in self._parts.tokens.items()}

    def _is_windowed(self, span: Asked, lengths: Mapping[str, int]) -> bool:
        return lengths[span.roles[0]] > self._member.spans.repeat_limit

    def _read(self, tree: Sequence[Asked]) -> DecoderReading | None:
        """Read a tree; questions that cannot be are refused, and the others read without them."""
        if not tree:
            return None
        lengths = self._lengths(truncate=all(asked.truncate for asked in tree))
        fitted = self._fit(tree, lengths)
        if fitted is None:
            self._refuse(tree)
            return None
        prefix = self._prefix(fitted)
        try:
            questions = tuple(self._question(asked, prefix, fitted, lengths) for asked in tree)
        except _TooLong as error:
            self._refuse([error.asked])
            return self._read([asked for asked in tree if asked is not error.asked])
        partial = [each.asked for each in questions if each.asked.full and not self._is_whole(each, fitted, lengths)]
        if partial:
            self._refuse(partial)
            return self._read([asked for asked in tree if asked not in partial])
        return DecoderReading(questions, self._tokens(questions, prefix, lengths))

    def _refuse(self, tree: Sequence[Asked]) -> None:
        message = f"state and questions do not fit {self._limits.sequence} tokens"
        for asked in tree:
            self.refused[asked.id] = Refused(asked.kind, ItemError.MAX_LENGTH_EXCEEDED, message, TOO_LONG)

    def _fit(self, tree: Sequence[Asked], lengths: Mapping[str, int]) -> Fitted | None:
        span = _span_of(tree)
        cost = sum(self._layout.cost(asked) for asked in tree if asked.kind != "span")
        repeated = None
        if span is not None:
            cost += self._layout.label_cost(self._dispatch(span))
            repeated = None if self._is_windowed(span, lengths) else lengths[span.roles[0]]
        room = self._layout.room(self._limits.sequence, lengths, span, repeated)
        protected = {role for asked in tree for role in asked.roles}
        return fit(cost, lengths, room, protected, unread(list(lengths), protected))

    def _dispatch(self, span: Asked) -> Dispatch:
        return dispatch(span, self._member.calibration, has_broad=self._member.has_broad)

    def _question(
        self, asked: Asked, prefix: Prefix, fitted: Fitted, lengths: Mapping[str, int]
    ) -> OptionsRow | SpanRows:
        if asked.kind == "span":
            return self._span(asked, prefix, fitted, lengths)
        block = self._layout.block(asked)
        readout = Readout(SET if asked.kind == "set" else OPTIONS, self._member.depth, per_token=True)
        return OptionsRow(asked, self._row(asked, prefix, block, readout), block.ends)

    def _span(self, asked: Asked, prefix: Prefix, fitted: Fitted, lengths: Mapping[str, int]) -> SpanRows:
        (role,) = asked.roles
        words = self._parts.words(role)
        head = self._dispatch(asked).head if self._member.has_broad else None
        if self._is_windowed(asked, lengths):
            targets = tuple(self._window(asked, lengths, window) for window in self._windows(asked, lengths))
        else:
            targets = (self._target(asked, prefix, (0, fitted.kept[role])),)
            words = words.before(fitted.kept[role])
        return SpanRows(asked, targets, self._parts.tokens[role], words, head)

    def _windows(self, span: Asked, lengths: Mapping[str, int]) -> list[Window]:
        (role,) = span.roles
        words = self._parts.words(role).before(lengths[role])
        return word_windows(np.unique(words.first).tolist(), lengths[role], self._member.spans)

    def _window(self, span: Asked, lengths: Mapping[str, int], window: Window) -> TargetRow:
        """The tree of a window, which stands in the place of the part that it is of."""
        start, end = window
        fitted = self._fit_window(span, lengths, window)
        if fitted is None:
            raise _TooLong(span)
        (role,) = span.roles
        return self._target(span, self._prefix(fitted, {role: start}), (start, min(end, start + fitted.kept[role])))

    def _fit_window(self, span: Asked, lengths: Mapping[str, int], window: Window) -> Fitted | None:
        return self._fit([span], {**lengths, span.roles[0]: window[1] - window[0]})

    def _target(self, span: Asked, prefix: Prefix, held: Window) -> TargetRow:
        """A row that repeats the tokens `held` of the span's part."""
        (role,) = span.roles
        start, end = held
        dispatched = self._dispatch(span)
        block = self._layout.span_block(span, dispatched, self._parts.tokens[role].ids[start:end])
        assert block.text is not None
        name = readout_name(dispatched.head, len(dispatched.labels))
        row = self._row(span, prefix, block, Readout(name, self._member.depth, per_token=True))
        assert row.marks is not None
        first = self._parts.words(role).first
        np.add.at(row.marks[0], first[(first >= start) & (first < end)] - start + block.text, 1)
        kind = 2 if dispatched.head == BROAD else 1
        for number, (low, high) in enumerate(zip(block.starts, block.ends, strict=True), 1):
            row.marks[kind, low : high + 1] = number
        return TargetRow(row, start, end, block.text)

    def _prefix(self, fitted: Fitted, starts: Mapping[str, int] | None = None) -> Prefix:
        starts = starts or {}
        parts = {}
        for role, kept in fitted.kept.items():
            start = starts.get(role, 0)
            parts[role] = self._parts.tokens[role].ids[start : start + kept]
        return Prefix(self._layout.prefix(parts))

    def _row(self, asked: Asked, prefix: Prefix, block: Block, readout: Readout) -> Row:
        if prefix.length + len(block.ids) > self._limits.sequence:
            raise _TooLong(asked)
        return Row(block.ids, readout, np.zeros((len(MARKS), len(block.ids)), np.int32), prefix)

    def _tokens(self, questions: Sequence[OptionsRow | SpanRows], prefix: Prefix, lengths: Mapping[str, int]) -> int:
        """The prefix once, each block, and the trees of windows; the block that windows replace counts too."""
        total = prefix.length
        for each in questions:
            if isinstance(each, SpanRows) and self._is_windowed(each.asked, lengths):
                total += len(self._layout.span_block(each.asked, self._dispatch(each.asked), None).ids)
                total += sum(tokens_of([row]) for row in each.rows)
            else:
                total += sum(row.length for row in each.rows)
        return total

    def _is_whole(self, each: OptionsRow | SpanRows, fitted: Fitted, lengths: Mapping[str, int]) -> bool:
        """Whether a question was read with every token of the state, and a span with every word in one piece."""
        whole = {role: tokens.count for role, tokens in self._parts.tokens.items()}
        if not isinstance(each, SpanRows) or not self._is_windowed(each.asked, lengths):
            return all(fitted.kept[role] == count for role, count in whole.items())
        (role,) = each.asked.roles
        for window in self._windows(each.asked, lengths):
            cut = self._fit_window(each.asked, lengths, window)
            if cut is None or any(cut.kept[other] != count for other, count in whole.items() if other != role):
                return False
        held = [(target.start, target.end) for target in each.targets]
        return covers(held, whole[role]) and self._parts.hold_words(role, held)


def _span_of(tree: Sequence[Asked]) -> Asked | None:
    return next((asked for asked in tree if asked.kind == "span"), None)
