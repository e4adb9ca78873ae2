"""From word probabilities to labelled spans of a text (Vela 2.0 format, section 8.4)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.families.vela2.words import CJK

NO_LABEL: Final = -1
_QUOTES: Final = "\"'\u201c\u201d"
_BODY: Final = rf"[^\s\]\)}}>\u300c-\u300f{_QUOTES}{CJK}]"
_GROUP: Final = re.compile(rf"(?P<url>(?:https?://|www\.){_BODY}+)|(?:[^\W{CJK}]+|[@.+-]+)+|\S")
_GROUP_SCHEME: Final = re.compile(r"https?://|www\.")
_GROUP_TRAIL: Final = ".,;:!?"
_EDGE: Final = frozenset("[](){}<>「」『』【】《》〈〉\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u2039\u203a")
_URL: Final = re.compile(r"https?://|www\.", re.IGNORECASE)
_ANY_CJK: Final = re.compile(f"[{CJK}]")
_URL_TRAIL: Final = frozenset(".,;:!?)")


@dataclass(frozen=True, slots=True)
class Found:
    """A span: characters [start, end) of the text, the index of its label, and its probability."""

    label: int
    start: int
    end: int
    probability: float


def decode(probabilities: NDArray[np.float64], spans: NDArray[np.int32], text: str, threshold: float) -> list[Found]:
    """Spans of a text in order. `probabilities` [W C] and the words' characters `spans` [W 2] belong together."""
    if not len(spans):
        return []
    narrow = probabilities.astype(np.float32)
    best = narrow.argmax(axis=1)
    strength = np.take_along_axis(narrow, best[:, None], axis=1)[:, 0]
    labels = np.where(strength > np.float32(threshold), best, NO_LABEL)
    if (labels == NO_LABEL).all():
        return []
    _agree(labels, strength, _groups(text, spans))
    found = []
    for label, words in groupby(range(len(labels)), key=lambda word: int(labels[word])):
        if label == NO_LABEL:
            continue
        run = list(words)
        start, end = trim(text, int(spans[run[0], 0]), int(spans[run[-1], 1]))
        if start < end:
            found.append(Found(label, start, end, float(np.mean(narrow[run, label], dtype=np.float32))))
    return found


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """A range without white space, brackets and quotes at its ends; of a web address, what trails it too."""
    start, end = _strip(text, start, end, _EDGE)
    if _URL.match(text, start, end) is None:
        return start, end
    foreign = _ANY_CJK.search(text, start, end)
    if foreign is not None:
        end = foreign.start()
    while end > start and (text[end - 1].isspace() or text[end - 1] in _EDGE or text[end - 1] in _URL_TRAIL):
        end -= 1
    return start, end


def clip(found: Sequence[Found], text: str, low: int, high: int) -> list[Found]:
    """The part of each span within [low, high), trimmed again, with offsets from `low` on; empty ones dropped."""
    clipped = []
    for span in found:
        start, end = trim(text, max(span.start, low), max(low, min(span.end, high)))
        if start < end:
            clipped.append(Found(span.label, start - low, end - low, span.probability))
    return clipped


def _strip(text: str, start: int, end: int, edge: frozenset[str]) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in edge):
        start += 1
    while start < end and (text[end - 1].isspace() or text[end - 1] in edge):
        end -= 1
    return start, end


def _groups(text: str, spans: NDArray[np.int32]) -> list[int]:
    """The unit that each word's first visible character lies in, by number; -1 for none.

    Units are addresses and runs of letters, digits and the marks that join them: what carries one label.
    """
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    while (match := _GROUP.search(text, position)) is not None:
        start, position = match.span()
        if match["url"] is not None:
            position = _group_url_end(text, start, position)
        starts.append(start)
        ends.append(position)
    groups = []
    for start, end in spans.tolist():
        while start < end and text[start].isspace():
            start += 1
        unit = bisect_right(starts, start) - 1
        groups.append(unit if start < end and unit >= 0 and start < ends[unit] else -1)
    return groups


def _group_url_end(text: str, start: int, end: int) -> int:
    scheme = _GROUP_SCHEME.match(text, start)
    assert scheme is not None
    return max(scheme.end() + 1, scheme.end() + len(text[scheme.end() : end].rstrip(_GROUP_TRAIL)))


def _agree(labels: NDArray[np.intp], strength: NDArray[np.float32], groups: Sequence[int]) -> None:
    """Give the words of each unit one label: the strongest in sum; words between labelled ones take it too."""
    for unit, run in groupby(range(len(labels)), key=lambda word: groups[word]):
        words = list(run)
        labelled = [word for word in words if labels[word] != NO_LABEL]
        if unit < 0 or not labelled:
            continue
        sums: dict[int, float] = {}
        for word in labelled:
            sums[int(labels[word])] = sums.get(int(labels[word]), 0.0) + float(strength[word])
        labels[labelled[0] : labelled[-1] + 1] = max(sums, key=lambda label: sums[label])
