"""The tokenizer of an encoder: a cut vocabulary, framed as the formats ask, on wish with capitals of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, processors

from bench.mini.vocabulary import BEGIN, END, PAD, UNKNOWN, cut
from vela_jax.families.task_heads.reading import Texts
from vela_jax.text.tokenizer import TextTokenizer

NAMES: Final = {
    "pad_token": PAD,
    "unk_token": UNKNOWN,
    "bos_token": BEGIN,
    "eos_token": END,
    "cls_token": BEGIN,
    "sep_token": END,
}
"""Content of `special_tokens_map.json`."""
_CAPITAL_SHARE: Final = 0.25
"""Of the entries of a vocabulary with capitals, those that begin with one."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A `tokenizer.json` with what a table needs to begin with."""

    tokenizer: str
    rows: NDArray[np.int32]  # [V], entry of the vocabulary that it was cut from
    capital: NDArray[np.bool_]  # [V]
    share: NDArray[np.float32]  # [V], of the pieces of the texts that it was cut for

    @property
    def size(self) -> int:
        """Entries."""
        return len(self.rows)

    @property
    def texts(self) -> Texts:
        """What reads and frames texts as a server does."""
        return Texts.of(TextTokenizer.from_json(self.tokenizer))

    @property
    def ids(self) -> dict[str, int]:
        """Members of `config.json`: the ids of the special pieces."""
        vocabulary = json.loads(self.tokenizer)["model"]["vocab"]
        return {f"{name.removesuffix('_token')}_token_id": vocabulary[piece] for name, piece in NAMES.items()}


def make_pieces(tokenizer: str, texts: Sequence[str], size: int, *, cased: bool = False) -> Pieces:
    """Cut a WordPiece `tokenizer.json` to the `size` entries that the texts need most.

    With `cased` a part of the entries are twins of others with a capital, and capitals are told from small letters.
    """
    room = round(size * _CAPITAL_SHARE) if cased else 0
    plain = cut(tokenizer, texts, size - room, ())
    rows = plain.rows.tolist()
    members: dict[str, Any] = json.loads(plain.tokenizer)
    vocabulary: dict[str, int] = members["model"]["vocab"]
    twins = _twins(vocabulary, texts, room)
    rows += [rows[vocabulary[_small(twin)]] for twin in twins]
    vocabulary |= {twin: len(plain.rows) + place for place, twin in enumerate(twins)}
    if cased:
        members["normalizer"] |= {"lowercase": False, "strip_accents": True}
    framed = _framed(json.dumps(members, ensure_ascii=False))
    capital = np.arange(len(rows)) >= len(plain.rows)
    return Pieces(framed, np.array(rows, np.int32), capital, _shares(framed, texts))


def _twins(vocabulary: dict[str, int], texts: Iterable[str], room: int) -> list[str]:
    """Every capital letter, alone and within a word, then the commonest beginnings of capitalized words."""
    if not room:
        return []
    letters = [piece.upper() for piece in vocabulary if len(piece.removeprefix("##")) == 1 and piece[-1].isalpha()]
    counts = Counter(word for text in texts for word in text.split() if word[:1].isupper())
    beginnings: Counter[str] = Counter()
    for word, count in counts.items():
        for end in range(2, len(word) + 1):
            if word[:end].lower() in vocabulary:
                beginnings[word[:1] + word[1:end].lower()] += count * end
    known = dict.fromkeys(letters)
    known |= dict.fromkeys(piece for piece, _ in beginnings.most_common() if piece not in known)
    return [piece for piece in known if piece not in vocabulary and _small(piece) in vocabulary][:room]


def _small(piece: str) -> str:
    return piece.lower()


def _framed(tokenizer: str) -> str:
    library = Tokenizer.from_str(tokenizer)
    library.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A {END}",
        pair=f"{BEGIN} $A {END} $B:1 {END}:1",
        special_tokens=[(piece, library.token_to_id(piece)) for piece in (BEGIN, END)],
    )
    framed: str = library.to_str()
    return framed


def _shares(tokenizer: str, texts: Iterable[str]) -> NDArray[np.float32]:
    library = Tokenizer.from_str(tokenizer)
    counts = np.ones(library.get_vocab_size(), np.float32)
    for encoding in library.encode_batch_fast(list(texts)):
        np.add.at(counts, encoding.ids, 1)
    share: NDArray[np.float32] = counts / counts.sum()
    return share
