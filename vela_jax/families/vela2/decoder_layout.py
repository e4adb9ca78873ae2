"""How the decoder members lay out a state and its questions: a prefix, and a block a question.

(Vela 2.0 format, sections 7.1 to 7.4.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.families.vela2.decoder_dispatch import Dispatch
from vela_jax.families.vela2.questions import Asked
from vela_jax.families.vela2.texts import Pieces
from vela_jax.systemone.json_values import canonical_json

Ids = NDArray[np.int32]
Window = tuple[int, int]
"""Tokens of a part: from, up to and not including."""

PARTS_HEAD: Final = "Context:\n"
CLOSE: Final = "\n</segment>\n"
TEXT_HEAD: Final = "\n\nText:\n"
ABSTAIN: Final = ("[ABS]", "None of the shown options applies.")
SPAN_SUFFIX: Final = "\n\nMark every span of the target text that carries one of the labels.\nSpans:"
_SELECT_ONE: Final = "\n\nSelect the single option best supported by the context and instructions.\nDecision:"
SUFFIXES: Final = {
    "choice": _SELECT_ONE,
    "score": _SELECT_ONE,
    "set": "\n\nSelect every option supported by the context and instructions.\nDecision:",
    "span": SPAN_SUFFIX,
}
LEAST_ROOM: Final = 64  # tokens that parts and questions are given, however much the frame takes


@dataclass(frozen=True, slots=True)
class SpanLayout:
    """Long span targets: tokens up to which a target is repeated whole, else the size and stride of its windows."""

    repeat_limit: int
    window: int
    stride: int


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A question as tokens, with the places to read, counted from the block's start."""

    ids: Ids  # [S]
    ends: Ids  # [O], last tokens of the options, or of the labels
    starts: Ids  # [O], first tokens
    text: int | None = None  # where the first token of the repeated target stands


class DecoderLayout:
    """Lays out prefixes and blocks of one model."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def prefix(self, parts: Mapping[str, Ids]) -> Ids:
        """The kept tokens of the parts, by role in part order."""
        runs = [self._ids(PARTS_HEAD)]
        for role, ids in parts.items():
            runs += [self._ids(segment_open(role)), ids, self._ids(CLOSE)]
        return np.concatenate(runs)

    def block(self, asked: Asked) -> Block:
        """A question that is no span."""
        shown = (*asked.options, *([ABSTAIN] if asked.abstains else []))
        return self._block(question_head(asked), [option(*each) for each in shown], [SUFFIXES[asked.engine_kind]])

    def span_block(self, asked: Asked, dispatched: Dispatch, target: Ids | None) -> Block:
        """A span question; `target` are the tokens of its text that are repeated behind the labels."""
        (role,) = asked.roles
        pieces: list[str | Ids] = [SPAN_SUFFIX]
        if target is not None:
            pieces = [TEXT_HEAD, segment_open(role), target, CLOSE, SPAN_SUFFIX]
        return self._block(question_head(asked), [label(*each) for each in dispatched.labels], pieces)

    def cost(self, asked: Asked) -> int:
        """Tokens that a question which is no span adds to a tree."""
        shown = (*asked.options, *([ABSTAIN] if asked.abstains else []))
        suffix = SUFFIXES[asked.engine_kind]
        frame = 1 + self._count([question_head(asked), suffix]) + asked.abstains
        options = self._count(option(*each) for each in shown)
        return frame + options + len(asked.options)

    def label_cost(self, dispatched: Dispatch) -> int:
        """Tokens that the labels of a span add to a tree."""
        return self._count(label(*each) for each in dispatched.labels) + len(dispatched.labels)

    def room(self, limit: int, roles: Iterable[str], span: Asked | None, repeated: int | None) -> int:
        """What is left of `limit` tokens for questions, labels and parts.

        `span` is the tree's span question, if it has one, and `repeated` the tokens of its target if that is repeated.
        """
        frame = self._count([PARTS_HEAD, *(piece for role in roles for piece in (segment_open(role), CLOSE))])
        if span is not None:
            frame += self._count([question_head(span), SPAN_SUFFIX])
            if repeated is not None:
                frame += self._count([TEXT_HEAD, segment_open(span.roles[0]), CLOSE])
                frame += min(repeated, max(0, limit - frame) // 2)
        return max(LEAST_ROOM, limit - frame)

    def _block(self, head: str, shown: Sequence[str], rest: Sequence[str | Ids]) -> Block:
        runs = [self._ids(head)]
        length = len(runs[0])
        starts, ends = [], []
        for text in shown:
            runs.append(self._ids(text))
            starts.append(length)
            length += len(runs[-1])
            ends.append(length - 1)
        text_place = None
        for piece in rest:
            if not isinstance(piece, str):
                text_place = length
            runs.append(self._ids(piece) if isinstance(piece, str) else piece)
            length += len(runs[-1])
        return Block(np.concatenate(runs), np.array(ends, np.int32), np.array(starts, np.int32), text_place)

    def _ids(self, text: str) -> Ids:
        return self._pieces.ids(text)

    def _count(self, texts: Iterable[str]) -> int:
        return sum(len(self._ids(text)) for text in texts)


def segment_open(role: str) -> str:
    """What begins a part."""
    return f'<segment role="{role}">\n'


def question_head(asked: Asked) -> str:
    """What begins a block."""
    listed = "Labels" if asked.kind == "span" else "Options"
    target = ", ".join(asked.roles)
    return f"\n\nTask type: {asked.engine_kind}\nTarget: {target}\nQuestion:\n{asked.text}\n{listed}:"


def option(name: str, description: str) -> str:
    """An option as it is shown."""
    return f"\n<option>\n{canonical_json({'key': name, 'description': description})}\n</option>"


def label(name: str, description: str) -> str:
    """A label as it is shown."""
    return f"\n<label>\n{canonical_json({'key': name, 'description': description})}\n</label>"


def word_windows(starts: Sequence[int], length: int, layout: SpanLayout) -> list[Window]:
    """Windows over a target of `length` tokens whose words begin with the tokens `starts`, ascending and distinct.

    Windows begin and end where words begin, as far as words are no longer than windows.
    """
    if not starts:
        return [(0, length)]
    begins = np.asarray(starts)
    start = int(begins[0])
    windows: list[Window] = []
    while True:
        limit = start + layout.window
        inside = begins[(begins > start) & (begins < limit)]
        end = length if limit >= length else int(inside[-1]) if inside.size else min(length, limit)
        windows.append((start, end))
        if end >= length:
            return windows
        next_ = begins[(begins >= start + layout.stride) & (begins < end)]
        start = int(next_[0]) if next_.size else end
