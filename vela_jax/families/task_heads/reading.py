"""Reads texts and pairs only as far as their budget decides (Vela 1.0 format, sections 8 and 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import ItemError
from vela_jax.families.task_heads.items import Failed
from vela_jax.surfaces.usage import ItemUsage
from vela_jax.text.bounds import BoundedReader, Reading
from vela_jax.text.envelope import Envelope, PairEnvelope, pair_envelope, single_envelope
from vela_jax.text.tokenizer import TextTokenizer

Overflow = Literal["reject", "truncate", "window"]
_REFUSALS = {"reject": ItemError.MAX_LENGTH_EXCEEDED, "window": ItemError.SCAN_BUDGET_EXCEEDED}


@dataclass(frozen=True, slots=True)
class Texts:
    """A package's tokenizer with its envelopes and its bounded reader."""

    tokenizer: TextTokenizer
    reader: BoundedReader
    single: Envelope
    pair: PairEnvelope

    @classmethod
    def of(cls, tokenizer: TextTokenizer) -> Texts:
        """Derive envelopes and reader; EnvelopeError when the tokenizer does not frame texts in one way."""
        return cls(tokenizer, BoundedReader(tokenizer), single_envelope(tokenizer), pair_envelope(tokenizer))


class SharedText:
    """A text that several pairs of a request begin with: read whole at most once."""

    def __init__(self, texts: Texts, text: str) -> None:
        self._reader = texts.reader
        self._text = text
        self._whole: Reading | None = None

    def surely_over(self, limit: int) -> bool:
        """Whether the text has more tokens than `limit`, judged without reading it."""
        return self._whole is None and self._reader.surely_over(self._text, limit)

    def read(self, need: int) -> Reading:
        """At least `need` tokens, or the whole text."""
        if self._whole is not None:
            return self._whole
        reading = self._reader.read(self._text, need)
        if reading.complete:
            self._whole = reading
        return reading


@dataclass(frozen=True, slots=True)
class FramedPair:
    """A first text cut to its room and a whole second text, framed."""

    ids: NDArray[np.int32]  # [S]
    second_start: int  # index of the second text's first token in `ids`
    second: Reading
    usage: ItemUsage


def read_single(texts: Texts, text: str, budget: int, overflow: Overflow) -> Reading | Failed:
    """Read one text for a budget of framed tokens.

    Over it, `reject` and `window` fail; under `truncate` the reading holds more content tokens than fit.
    """
    room = budget - texts.single.size
    refusal = _REFUSALS.get(overflow)
    if refusal and texts.reader.surely_over(text, room):
        return Failed(refusal, budget + 1)
    reading = texts.reader.read(text, max(1, room + 1))
    tokens = len(reading.ids) + texts.single.size
    if tokens > budget and refusal:
        return Failed(refusal, tokens)
    if room < 0:
        return Failed(ItemError.MAX_LENGTH_EXCEEDED, tokens)
    return reading


def read_pair(
    texts: Texts, first: SharedText, second: str, budget: int, overflow: Overflow, *, reserved: int = 0
) -> FramedPair | Failed:
    """Read a pair whose second text stays whole; the first is cut under `truncate` and keeps `reserved` tokens of room.

    The second is read first, since it decides what is left for the first.
    """
    size = texts.pair.size
    room = budget - size - reserved
    if texts.reader.surely_over(second, room):
        return Failed(ItemError.MAX_LENGTH_EXCEEDED, budget + 1)
    kept = texts.reader.read(second, max(1, room + 1))
    if len(kept.ids) > room:
        return Failed(ItemError.MAX_LENGTH_EXCEEDED, len(kept.ids) + size)
    left = budget - size - len(kept.ids)
    if overflow != "truncate" and first.surely_over(left):
        return Failed(ItemError.MAX_LENGTH_EXCEEDED, budget + 1)
    reading = first.read(left + 1)
    total = len(reading.ids) + len(kept.ids) + size
    if total > budget and overflow != "truncate":
        return Failed(ItemError.MAX_LENGTH_EXCEEDED, total)
    return _frame(texts.pair, reading, kept, left)


def _frame(envelope: PairEnvelope, first: Reading, second: Reading, left: int) -> FramedPair:
    cut = first.ids[:left]
    ids = envelope.frame(cut, second.ids)
    tokens = len(first.ids) + len(second.ids) + envelope.size
    usage = ItemUsage(tokens, len(ids), truncated=len(cut) < len(first.ids), lower_bound=not first.complete)
    return FramedPair(ids, len(ids) - len(envelope.suffix) - len(second.ids), second, usage)
