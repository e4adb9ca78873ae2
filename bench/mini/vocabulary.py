"""A vocabulary cut to the pieces that occur, with the markers of a row behind them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vela_jax.families.vela2.encoder_layout import MARKERS

PAD, UNKNOWN, BEGIN, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
_SPECIAL: Final = (PAD, UNKNOWN, BEGIN, END)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A tokenizer of fewer pieces. Entry i of the new table is row `rows[i]` of the old one; markers have none."""

    tokenizer: str
    rows: NDArray[np.int32]
    markers: dict[str, int]

    @property
    def size(self) -> int:
        """Entries, markers included."""
        return len(self.rows) + len(self.markers)


def cut(tokenizer: str, texts: Iterable[str], size: int, markers: Sequence[str] = MARKERS) -> Cut:
    """Keep `size` pieces of a WordPiece `tokenizer.json`: special ones, short ones, and the most frequent in texts."""
    members: dict[str, Any] = json.loads(tokenizer)
    old: dict[str, int] = members["model"]["vocab"]
    counts = _counts(tokenizer, texts)
    kept = [*_SPECIAL, *(piece for piece in old if piece not in _SPECIAL and _is_short(piece))]
    rest = sorted((piece for piece in old if piece not in set(kept)), key=lambda piece: (-counts[piece], old[piece]))
    kept = (kept + [piece for piece in rest if not piece.startswith("[unused")])[:size]
    marked = {name: len(kept) + place for place, name in enumerate(markers)}
    members["model"]["vocab"] = {piece: place for place, piece in enumerate(kept)} | marked
    members["added_tokens"] = [_added(name, place) for place, name in enumerate(_SPECIAL)]
    members["added_tokens"] += [_added(name, place) for name, place in marked.items()]
    members |= {"truncation": None, "padding": None, "post_processor": None}
    rows = np.array([old[piece] for piece in kept], np.int32)
    return Cut(json.dumps(members, ensure_ascii=False), rows, marked)


def _counts(tokenizer: str, texts: Iterable[str]) -> Counter[str]:
    library = Tokenizer.from_str(tokenizer)
    library.no_truncation()
    library.no_padding()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(library.encode(text, add_special_tokens=False).tokens)
    return counts


def _is_short(piece: str) -> bool:
    plain = piece.removeprefix("##")
    return plain.isascii() and len(plain) <= (1 if not plain.isalpha() else 2 if plain != piece else 1)


def _added(content: str, place: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": place, "content": content, "special": True, **flags}
