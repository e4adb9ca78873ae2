"""From token readouts to character spans: BIO entities and grounded runs (Vela 1.0 format, sections 10.4, 10.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

# Unicode's White_Space property; unlike str.strip(), without the separators U+001C to U+001F.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A labelled range of characters (code points), `end` not included."""

    label: str
    start: int
    end: int
    probability: float


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Take surrounding white space off a range of `text`; a range of nothing else stays as it is."""
    piece = text[start:end]
    inner = piece.strip(WHITE_SPACE)
    if not inner:
        return start, end
    left = start + len(piece) - len(piece.lstrip(WHITE_SPACE))
    return left, left + len(inner)


@dataclass(slots=True)
class _Entity:
    """An entity that may still grow; the probability is the running mean of its tokens."""

    label: str
    start: int
    end: int
    probability: float
    tokens: int = 1

    def extend(self, end: int, probability: float) -> None:
        self.tokens += 1
        self.end = end
        self.probability += (probability - self.probability) / self.tokens


def decode_bio(
    labels: Sequence[str],
    label_ids: NDArray[np.integer],
    probabilities: NDArray[np.floating],
    offsets: NDArray[np.int32],
    text: str,
    *,
    skip_empty: bool,
) -> list[Span]:
    """Join the tokens' labels [S] into entities.

    `B-X` opens an entity, `I-X` extends one of the same X or else opens one, anything else closes. A span reaches
    from its first token's start to its last token's end, trimmed; empty ones are dropped. `probabilities` [S] are
    those of the tokens' labels. With `skip_empty`, tokens at offset (0, 0) are left out before.
    """
    entities: list[_Entity] = []
    is_open = False
    rows = zip(label_ids.tolist(), probabilities.tolist(), offsets.tolist(), strict=True)
    for label_id, probability, (start, end) in rows:
        if skip_empty and start == 0 and end == 0:
            continue
        mark, name = labels[label_id][:2], labels[label_id][2:]
        if mark == "I-" and is_open and entities[-1].label == name:
            entities[-1].extend(end, probability)
            continue
        is_open = mark in ("B-", "I-")
        if is_open:
            entities.append(_Entity(name, start, end, probability))
    trimmed = ((entity, *trim(text, entity.start, entity.end)) for entity in entities)
    return [Span(entity.label, start, end, entity.probability) for entity, start, end in trimmed if end > start]


def decode_runs(
    probabilities: NDArray[np.floating], offsets: NDArray[np.int32], threshold: float, *, strict: bool, label: str
) -> list[Span]:
    """Join runs of tokens whose probability [S] passes the threshold into spans named `label`.

    `strict`: above the threshold passes, else also equal to it. A span reaches from the first token's start to the
    largest end and has the largest probability. Empty tokens neither extend nor end a run; nothing is trimmed.
    """
    values = probabilities.astype(np.float64)
    passes = values > threshold if strict else values >= threshold
    spans: list[Span] = []
    is_open = False
    rows = zip(passes.tolist(), values.tolist(), offsets.tolist(), strict=True)
    for is_passing, probability, (start, end) in rows:
        if end <= start:
            continue
        if is_passing and is_open:
            run = spans[-1]
            spans[-1] = Span(label, run.start, max(run.end, end), max(run.probability, probability))
        elif is_passing:
            spans.append(Span(label, start, end, probability))
        is_open = is_passing
    return spans
