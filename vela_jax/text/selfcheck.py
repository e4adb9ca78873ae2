"""Trying a tokenizer on probe texts: which cuts keep the whole text's tokens, and how much one token can cover.

(Vela 1.0 format, section 9.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from vela_jax.text.cuts import (
    LEAST_LOOKBACK,
    RUN_MARGIN,
    CutClass,
    cut_class,
    kept_before_word,
    kept_in_run,
    may_start_piece,
)
from vela_jax.text.probes import FOLD_REPETITIONS, FOLDS, joined_texts, probe_texts, run_texts
from vela_jax.text.tokenizer import Encoded, TextTokenizer

_COMPOSED: Final = 3  # characters that a composing normalizer may join into one: a syllable's three jamo
_RUN_START: Final = RUN_MARGIN + 512
_RUN_STEP: Final = 397

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trust:
    """What a tokenizer allows; the default is nothing, so that every text is read whole."""

    classes: frozenset[CutClass] = field(default_factory=frozenset)
    in_run: bool = False
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
    for text in [*probe_texts(added), *joined_texts(added)]:
        classes -= set(_failing_classes(tokenizer, text, classes, lookback))
    has_margin = bound is not None and bound <= RUN_MARGIN
    runs = [*run_texts(), *(text * 2 for text in joined_texts(added))]
    in_run = has_margin and bool(classes) and all(_run_holds(tokenizer, text) for text in runs)
    return Trust(classes, in_run, lookback)


def _failing_classes(
    tokenizer: TextTokenizer, text: str, classes: frozenset[CutClass], lookback: int
) -> Iterator[CutClass]:
    """Cut `text` before every character of the classes; give the classes of the cuts that change a kept token."""
    whole = tokenizer.encode(text)
    failed: set[CutClass] = set()
    for cut in range(1, len(text)):
        kind = cut_class(text[cut])
        if kind is None or kind not in classes or kind in failed:
            continue
        part, words = tokenizer.encode_words(text[:cut])
        if not _agree(part, whole, kept_before_word(part, words, cut, lookback)):
            failed.add(kind)
            yield kind


def _run_holds(tokenizer: TextTokenizer, text: str) -> bool:
    """Whether cuts inside `text` keep the whole text's tokens up to the margin."""
    whole = tokenizer.encode(text)
    for cut in range(_RUN_START, len(text), _RUN_STEP):
        if may_start_piece(text[cut]):
            part = tokenizer.encode(text[:cut])
            if not _agree(part, whole, kept_in_run(part, cut)):
                return False
    return True


def _agree(part: Encoded, whole: Encoded, kept: int) -> bool:
    return np.array_equal(part.ids[:kept], whole.ids[:kept]) and np.array_equal(
        part.offsets[:kept], whole.offsets[:kept]
    )
