"""Words of a text and the tokens they begin with (Vela 2.0 format, section 8.3).

The patterns of the format are matched in time linear in the text: what a lazy expression with a look-ahead finds is
found from the end of its run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

CJK: Final = (
    "\u2e80-\u2fff\u3000-\u303f\u3040-\u30ff\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7af"
    "\u8c48-\ufaff\ufe30-\ufe4f\uff00-\uffef"
)
"""A character class without its brackets. The long range is the format's own and holds far more than ideographs."""
_TRAIL: Final = ".,;:!?)]}>\"'\u201d\u2019\u00bb"

_FLAGS: Final = re.IGNORECASE
_UNIT: Final = re.compile(
    rf"(?P<url>(?:https?://|www\.)[^\s{CJK}]+)|@[a-z0-9_]+|[{CJK}]|[^\W{CJK}]+(?:[-_][^\W{CJK}]+)*|\S", _FLAGS
)
_URL_START: Final = re.compile(r"https?://|www\.", _FLAGS)
_LOCAL_RUN: Final = re.compile(r"[a-z0-9._%+-]+", _FLAGS)
_DOMAIN: Final = re.compile(r"@[a-z0-9.-]+\.[a-z]{2,}", _FLAGS)


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Words that begin with a token of their own: characters [start, end) and the index of the first token."""

    spans: NDArray[np.int32]  # [W 2]
    first: NDArray[np.int32]  # [W]

    @property
    def count(self) -> int:
        """Number of words."""
        return len(self.first)

    def before(self, token: int) -> Words:
        """The words whose first token lies before `token`."""
        kept = int(np.searchsorted(self.first, token))
        return Words(self.spans[:kept], self.first[:kept])


def units(text: str) -> Iterator[tuple[int, int]]:
    """Character ranges of the units of a text, in order."""
    addresses = _addresses(text)
    ends = [at for _, at, _ in addresses]
    position = 0
    while (match := _UNIT.search(text, position)) is not None:
        start, end = match.span()
        if match["url"] is not None:
            end = _url_end(text, start, end)
        else:
            after = bisect_right(ends, start)
            if after < len(addresses) and addresses[after][0] <= start:
                end = addresses[after][2]
        yield start, end
        position = end


def find_words(text: str, offsets: NDArray[np.int32]) -> Words:
    """The units that a token begins in, with that token. `offsets` [S 2] are those of the text's tokens.

    A unit's token is the first that reaches past the unit's start, empty ones left out; it must begin before the
    unit's end.
    """
    spans = np.array(list(units(text)), np.int32).reshape(-1, 2)
    full = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    if not full.size or not len(spans):
        return Words(np.zeros((0, 2), np.int32), np.zeros(0, np.int32))
    reach = np.maximum.accumulate(offsets[full, 1])
    place = np.searchsorted(reach, spans[:, 0], side="right")
    found = place < full.size
    tokens = full[np.where(found, place, 0)]
    kept = found & (offsets[tokens, 0] < spans[:, 1])
    return Words(spans[kept], tokens[kept].astype(np.int32))


def _url_end(text: str, start: int, end: int) -> int:
    """The end of an address without what trails it: at least one character behind the scheme stays."""
    scheme = _URL_START.match(text, start)
    assert scheme is not None
    return max(scheme.end() + 1, scheme.end() + len(text[scheme.end() : end].rstrip(_TRAIL)))


def _addresses(text: str) -> list[tuple[int, int, int]]:
    """Mail addresses that a unit may begin inside of: start of the run before `@`, place of `@`, end.

    Whether an address follows does not depend on where in its run a unit begins, so each `@` is looked at once.
    """
    found = []
    place = text.find("@")
    while place >= 0:
        domain = _DOMAIN.match(text, place)
        if domain is not None:
            start = _run_start(text, place)
            if start < place:
                found.append((start, place, domain.end()))
        place = text.find("@", place + 1)
    return found


def _run_start(text: str, end: int) -> int:
    """Where the run of characters of an address' local part that ends at `end` begins."""
    start = end
    while start > 0 and _LOCAL_RUN.match(text, start - 1, start) is not None:
        start -= 1
    return start
