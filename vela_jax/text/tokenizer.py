"""The text tokenizer of a package: token ids and their places in the text as sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

# The library keeps the interpreter lock in `encode` and lets go of it in `encode_batch`, which costs a few
# microseconds more: texts above this many characters go the second way so that other threads run on.
_RELEASE_LOCK_ABOVE: Final = 2_000
_COMPOSING: Final = frozenset({"NFC", "NFKC", "Precompiled"})
_LOOKS_AHEAD: Final = ("(?=", "(?!")
_NO_OFFSETS: Final = np.zeros((0, 2), dtype=np.int32)


class TokenizerError(Exception):
    """The package's tokenizer cannot be used; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A text as content tokens, without special tokens."""

    ids: NDArray[np.int32]  # [S]
    offsets: NDArray[np.int32]  # [S 2], start and end in code points of the text as sent

    @property
    def count(self) -> int:
        """Content tokens."""
        return int(self.ids.shape[0])

    def first(self, count: int) -> Encoded:
        """Give the first `count` tokens; the arrays are views."""
        return Encoded(self.ids[:count], self.offsets[:count])


class _Model(msgspec.Struct):
    type: str = ""
    dropout: float | None = None


class _TokenizerFile(msgspec.Struct):
    """The members of `tokenizer.json` that the library does not give back."""

    model: _Model
    normalizer: Any = None


class TextTokenizer:
    """Reads a `tokenizer.json` without its truncation and padding. All methods may be called from any thread."""

    def __init__(self, library: Tokenizer, normalizer: Any) -> None:
        self._library = library
        parts = list(_walk(normalizer))
        self.composes: bool = any(part.get("type") in _COMPOSING for part in parts)
        """Whether the normalizer joins characters into one (NFC, NFKC, or a precompiled map)."""
        self.looks_ahead: bool = any(mark in part.get("Regex", "") for part in parts for mark in _LOOKS_AHEAD)
        """Whether the normalizer replaces by a pattern that looks at what follows, however far."""
        self.vocab_size: int = library.get_vocab_size(with_added_tokens=True)
        """Entries of the vocabulary, added tokens included."""

    @classmethod
    def from_json(cls, data: str | bytes) -> Self:
        """Build from the content of a `tokenizer.json`.

        Raises TokenizerError when the content is not a tokenizer or draws its tokens at random.
        """
        try:
            text = data.decode() if isinstance(data, bytes) else data
            described = msgspec.json.decode(text, type=_TokenizerFile)
            library = Tokenizer.from_str(text)
        except Exception as error:  # the library raises bare Exception
            raise TokenizerError(f"tokenizer.json is not a tokenizer this server can read: {error}") from error
        if described.model.dropout:
            raise TokenizerError(
                f"tokenizer.json: model.dropout is {described.model.dropout}, so equal texts would get "
                "different tokens; it must be null or 0"
            )
        library.no_truncation()
        library.no_padding()
        return cls(library, described.normalizer)

    def encode(self, text: str) -> Encoded:
        """Give the tokens of `text`, without special tokens."""
        return _encoded(self._encoding(text))

    def encode_words(self, text: str) -> tuple[Encoded, NDArray[np.int32]]:
        """Give the tokens of `text` and the pre-tokenizer's word number [S] of each."""
        encoding = self._encoding(text)
        return _encoded(encoding), np.array(encoding.word_ids, dtype=np.int32)

    def encode_ids(self, text: str) -> NDArray[np.int32]:
        """Give the token ids [S] of `text` only: cheaper than `encode` in time and memory."""
        (encoding,) = self._library.encode_batch_fast([text], add_special_tokens=False)
        return np.array(encoding.ids, dtype=np.int32)

    def frame(self, text: str) -> list[int]:
        """Give the ids of `text` with the special tokens that the tokenizer puts around one text."""
        ids: list[int] = self._library.encode(text).ids
        return ids

    def frame_pair(self, first: str, second: str) -> tuple[list[int], list[int | None]]:
        """Give the ids of two texts with the tokenizer's special tokens, and each id's text: 0, 1 or None."""
        encoding = self._library.encode(first, second)
        return encoding.ids, encoding.sequence_ids

    def id_of(self, token: str) -> int | None:
        """Give the id of a vocabulary entry or added token, None when there is none."""
        found: int | None = self._library.token_to_id(token)
        return found

    def longest_entry(self) -> int:
        """Characters of the longest vocabulary entry, added tokens included."""
        return max((len(entry) for entry in self._library.get_vocab(with_added_tokens=True)), default=0)

    def added_texts(self) -> list[str]:
        """Give the texts of the added tokens."""
        return [token.content for token in self._library.get_added_tokens_decoder().values()]

    def _encoding(self, text: str) -> Encoding:
        if len(text) <= _RELEASE_LOCK_ABOVE:
            return self._library.encode(text, add_special_tokens=False)
        (encoding,) = self._library.encode_batch([text], add_special_tokens=False)
        return encoding


def without_added(data: bytes, contents: Collection[str]) -> bytes:
    """A `tokenizer.json` without the added tokens of these contents, so that no text gives them.

    Raises TokenizerError when it is no JSON object.
    """
    if not contents:
        return data
    try:
        members = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TokenizerError(f"tokenizer.json is not a tokenizer this server can read: {error}") from error
    added = members.get("added_tokens") or []
    kept = [token for token in added if not (isinstance(token, dict) and token.get("content") in contents)]
    return msgspec.json.encode({**members, "added_tokens": kept})


def _encoded(encoding: Encoding) -> Encoded:
    ids = np.array(encoding.ids, dtype=np.int32)
    return Encoded(ids, np.array(encoding.offsets, dtype=np.int32) if ids.size else _NO_OFFSETS)


def _walk(description: Any) -> Iterator[dict[str, Any]]:
    """Give every object inside a component's description, at any depth."""
    if isinstance(description, dict):
        yield description
    members = description.values() if isinstance(description, dict) else description
    if isinstance(description, (dict, list)):
        for member in members:
            yield from _walk(member)
