"""Trying a tokenizer on probe texts: which cuts keep the whole text's tokens, and how much one token can cover.

(Vela 1.0 format, section 9.)
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from vela_jax.text.cuts import (
    LEAST_LOOKBACK,
    RUN_MARGIN,
    CutClass,
    cut_class,
    joins_left,
    kept_before_word,
    kept_in_run,
    solid_length,
)
from vela_jax.text.probes import FOLD_REPETITIONS, FOLDS, long_texts, probe_texts, run_texts, whitespace_texts
from vela_jax.text.tokenizer import Encoded, TextTokenizer

_COMPOSED: Final = 3  # characters that a composing normalizer may join into one: a syllable's three jamo
_RUN_START: Final = RUN_MARGIN + 512
_RUN_STEP: Final = 397
_SPREAD: Final = 48  # cuts of a class tried in a long text

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trust:
    """What a tokenizer allows; the default is nothing, so that every text is read whole."""

    classes: frozenset[CutClass] = field(default_factory=frozenset)
    in_run: bool = False
    in_whitespace: bool = False  # cuts inside a run hold in a run of white space too
    lookback: int = LEAST_LOOKBACK  # characters before a class cut in which words may still change


def characters_per_token(tokenizer: TextTokenizer) -> int | None:
    """Give the most characters of a text that one token covers.

    None when the tokenizer drops characters or folds many of them into one token: then no bound exists.
    """
    bound = tokenizer.longest_entry() * (_COMPOSED if tokenizer.composes else 1)
    if bound == 0:
        return None
    for fold in FOLDS:
        text = fold * FOLD_REPETITIONS
        if tokenizer.encode_ids(text).size * bound < len(text):
            return None
    return bound


def check_tokenizer(tokenizer: TextTokenizer, bound: int | None) -> Trust:
    """Try every cut on the probe texts. `bound` is the tokenizer's characters per token.

    A tokenizer that fails on a probe text, or looks ahead in its normalizer, is trusted with nothing.
    """
    if tokenizer.looks_ahead:
        return Trust()
    try:
        return _try_cuts(tokenizer, bound)
    except Exception:  # whatever it is, reading whole texts is right
        _log.warning("the tokenizer fails on a probe text; long texts will be read whole", exc_info=True)
        return Trust()


def _try_cuts(tokenizer: TextTokenizer, bound: int | None) -> Trust:
    added = tokenizer.added_texts()
    lookback = max([LEAST_LOOKBACK, *(len(token) + 1 for token in added)])
    classes = frozenset(CutClass)
    for text in probe_texts(added):
        classes -= _failing_classes(tokenizer, text, _boundaries(text), lookback)
    distant = long_texts(added)
    for text in distant:
        classes -= _failing_classes(tokenizer, text, _spread(_boundaries(text)), lookback)
    has_margin = bound is not None and bound <= RUN_MARGIN
    runs = [*run_texts(), *(text * 2 for text in distant)]
    in_run = has_margin and bool(classes) and all(_run_holds(tokenizer, text) for text in runs)
    in_whitespace = in_run and all(_run_holds(tokenizer, text) for text in whitespace_texts(added))
    return Trust(classes, in_run, in_whitespace, lookback)


def _boundaries(text: str) -> dict[CutClass, list[int]]:
    """Give every cut of a text by class."""
    found: dict[CutClass, list[int]] = {}
    for cut in range(1, len(text)):
        kind = cut_class(text[cut])
        if kind is not None:
            found.setdefault(kind, []).append(cut)
    return found


def _spread(boundaries: dict[CutClass, list[int]]) -> dict[CutClass, list[int]]:
    """Keep some cuts of each class, evenly spread: in long texts only what works over a distance is looked for."""
    return {kind: cuts[:: -(-len(cuts) // _SPREAD)] for kind, cuts in boundaries.items()}


def _failing_classes(
    tokenizer: TextTokenizer, text: str, boundaries: dict[CutClass, list[int]], lookback: int
) -> set[CutClass]:
    """Give the classes of which a cut changes a token that would be kept."""
    whole = tokenizer.encode(text)

    def holds(cut: int) -> bool:
        part, words = tokenizer.encode_words(text[:cut])
        return _agree(part, whole, kept_before_word(part, words, solid_length(text[:cut]), lookback))

    return {kind for kind, cuts in boundaries.items() if not all(map(holds, cuts))}


def _run_holds(tokenizer: TextTokenizer, text: str) -> bool:
    """Whether cuts inside `text` keep the whole text's tokens up to the margin."""
    whole = tokenizer.encode(text)

    def holds(cut: int) -> bool:
        part = tokenizer.encode(text[:cut])
        return _agree(part, whole, kept_in_run(part, cut))

    return all(holds(cut) for cut in range(_RUN_START, len(text), _RUN_STEP) if not joins_left(text[cut]))


def _agree(part: Encoded, whole: Encoded, kept: int) -> bool:
    return np.array_equal(part.ids[:kept], whole.ids[:kept]) and np.array_equal(
        part.offsets[:kept], whole.offsets[:kept]
    )
