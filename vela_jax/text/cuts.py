"""Where a long text may be cut, and which tokens of the part before a cut the whole text has too.

A cut lies before a character. Its class says why the tokens to the left should not depend on what follows
(Vela 1.0 format, section 9); whether that holds for a tokenizer is found out in `selfcheck.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.text.tokenizer import Encoded

LEAST_LOOKBACK: Final = 16
RUN_MARGIN: Final = 1024


class CutClass(StrEnum):
    """What stands behind a cut; the first class that fits a character is its class."""

    SPACE = "space"
    WHITESPACE = "whitespace"
    PUNCTUATION = "punctuation"
    SYMBOL = "symbol"
    CJK = "cjk"


_CJK_RANGES: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0002fa1f"
_CJK: Final = re.compile(f"[{_CJK_RANGES}]")
_WHITESPACE: Final = re.compile(r"\s")
# Every character of a class and some of none: the pattern skips runs of letters and digits at the speed of C.
_CANDIDATE: Final = re.compile(rf"[\W_{_CJK_RANGES}]")
# Jamo that a following or preceding one may join.
_JAMO: Final = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")


def cut_class(character: str) -> CutClass | None:
    """Give the class of a cut before `character`, None when there is no reason to cut there."""
    if character == " ":
        return CutClass.SPACE
    if _WHITESPACE.match(character):
        return CutClass.WHITESPACE
    kind = unicodedata.category(character)[0]
    if kind in "PS":
        return CutClass.PUNCTUATION if kind == "P" else CutClass.SYMBOL
    # The range of kana holds two combining voicing marks.
    return CutClass.CJK if _CJK.match(character) and not joins_left(character) else None


def joins_left(character: str) -> bool:
    """Whether a normalizer may move or join `character` to what stands on its left: no cut lies before it."""
    return bool(
        unicodedata.category(character)[0] == "M"
        or unicodedata.combining(unicodedata.normalize("NFKD", character)[0])
        or _JAMO.match(character)
    )


def find_boundary(text: str, start: int, end: int, classes: Collection[CutClass]) -> int | None:
    """Give the first position in [start, end) whose character is of one of the classes."""
    found = (match.start() for match in _CANDIDATE.finditer(text, start, end))
    return next((position for position in found if cut_class(text[position]) in classes), None)


def find_piece(text: str, start: int, end: int) -> int | None:
    """Give the first position in [start, end) with a letter or digit before which a run may be cut."""
    positions = range(start, min(end, len(text)))
    return next(
        (at for at in positions if unicodedata.category(text[at])[0] in "LN" and not joins_left(text[at])), None
    )


def solid_length(part: str) -> int:
    """Characters of `part` without its trailing white space.

    How a run of white space is split may depend on its far end, which a cut inside it hides.
    """
    return len(part.rstrip())


def kept_before_word(encoded: Encoded, words: NDArray[np.int32], end: int, lookback: int) -> int:
    """Count the leading tokens to keep of a part cut at a boundary, whose solid length is `end`.

    Given up are the last word, and the words before it that start within `lookback` characters of `end`.
    `words` [S] is the pre-tokenizer's word number of each token.
    """
    if not encoded.count:
        return 0
    starts = np.flatnonzero(np.diff(words, prepend=words[0] - 1))  # first token of each word
    last = starts.size - 1
    near = encoded.offsets[starts, 0] >= end - lookback
    while last > 0 and near[last - 1]:
        last -= 1
    return int(starts[last])


def kept_in_run(encoded: Encoded, end: int) -> int:
    """Count the leading tokens that end at least the run margin before character `end`."""
    beyond = encoded.offsets[:, 1] > end - RUN_MARGIN
    return int(beyond.argmax()) if beyond.any() else encoded.count
