"""The special tokens around content: what a tokenizer's own framing does, as arrays that frame any slice of ids.

The envelope is read off the tokenizer once and then checked (Vela 1.0 format, section 8). Segment ids are not
kept: BERT tokenizers give the second text segment 1, and no family reads pairs with a backbone that has segments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.text.tokenizer import TextTokenizer

_PROBES: Final = ("", "a", "Hello, world!", "<bos> <eos> 中文 🚀\n\t")
_PAIR_PROBES: Final = (("", "x"), ("Hello, world!", "中文 🚀"), ("<eos> a", "b <bos>"))


class EnvelopeError(Exception):
    """The tokenizer's framing is not a fixed envelope around the content; the package must be refused."""


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Special tokens around one text."""

    prefix: NDArray[np.int32]
    suffix: NDArray[np.int32]

    @property
    def size(self) -> int:
        """Special tokens in all."""
        return int(self.prefix.size + self.suffix.size)

    def frame(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the row [E + S] of content ids [S]."""
        return np.concatenate((self.prefix, ids, self.suffix))


@dataclass(frozen=True, slots=True, eq=False)
class PairEnvelope:
    """Special tokens around and between two texts."""

    prefix: NDArray[np.int32]
    middle: NDArray[np.int32]
    suffix: NDArray[np.int32]

    @property
    def size(self) -> int:
        """Special tokens in all."""
        return int(self.prefix.size + self.middle.size + self.suffix.size)

    def frame(self, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the row [E + S1 + S2] of the content ids of two texts."""
        return np.concatenate((self.prefix, first, self.middle, second, self.suffix))


def single_envelope(tokenizer: TextTokenizer) -> Envelope:
    """Read the envelope of one text off the tokenizer.

    It is the split of the special tokens that reproduces the tokenizer's own framing of every probe; a tokenizer
    without special tokens gives an empty one. Raises EnvelopeError when no split does.
    """
    special = tokenizer.frame("")
    failed = ""
    for split in range(len(special) + 1):
        envelope = Envelope(_array(special[:split]), _array(special[split:]))
        wrong = next((probe for probe in _PROBES if not _frames(envelope, tokenizer, probe)), None)
        if wrong is None:
            return envelope
        failed = failed if len(failed) > len(wrong) else wrong
    raise EnvelopeError(
        f"tokenizer.json: the special tokens {special} cannot be split into a fixed prefix and suffix; "
        f"the tokenizer frames {failed!r} differently: {tokenizer.frame(failed)}"
    )


def pair_envelope(tokenizer: TextTokenizer) -> PairEnvelope:
    """Read the envelope of two texts off the tokenizer.

    Raises EnvelopeError when the tokenizer does not frame every pair of probes as it frames the first one.
    """
    ids, texts = tokenizer.frame_pair("a", "b")
    if 0 not in texts or 1 not in texts:
        raise EnvelopeError("tokenizer.json: the tokenizer finds no token in one of the texts of the pair ('a', 'b')")
    first_end, second_end = _last(texts, 0) + 1, _last(texts, 1) + 1
    envelope = PairEnvelope(
        _array(ids[: texts.index(0)]), _array(ids[first_end : texts.index(1)]), _array(ids[second_end:])
    )
    for first, second in _PAIR_PROBES:
        framed, _ = tokenizer.frame_pair(first, second)
        if envelope.frame(tokenizer.encode(first).ids, tokenizer.encode(second).ids).tolist() != framed:
            raise EnvelopeError(
                f"tokenizer.json: the pair ({first!r}, {second!r}) is framed as {framed}, not by the fixed special "
                f"tokens {envelope.prefix.tolist()}, {envelope.middle.tolist()}, {envelope.suffix.tolist()}"
            )
    return envelope


def _frames(envelope: Envelope, tokenizer: TextTokenizer, probe: str) -> bool:
    framed: list[int] = envelope.frame(tokenizer.encode(probe).ids).tolist()
    return framed == tokenizer.frame(probe)


def _last(texts: list[int | None], text: int) -> int:
    return len(texts) - 1 - texts[::-1].index(text)


def _array(ids: list[int]) -> NDArray[np.int32]:
    return np.array(ids, dtype=np.int32)
