"""The vocabulary of a generator's tokenizer: ids to pieces, pieces to text, text to ids with their places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Self

from tokenizers import Encoding, Tokenizer
from tokenizers.models import BPE

from vela_jax.text.tokenizer import TokenizerError

# `encode` keeps the interpreter lock and `encode_batch` lets go of it: long texts go the second way.
_RELEASE_LOCK_ABOVE: Final = 2_000


class Vocabulary:
    """The pieces of a `tokenizer.json`. All methods may be called from any thread.

    `special_texts` are special tokens that the package names beside those that its tokenizer marks.
    """

    def __init__(self, library: Tokenizer, special_texts: Iterable[str] = ()) -> None:
        self._library = library
        self._decoder = library.decoder
        self._pieces: dict[int, str] = {index: piece for piece, index in library.get_vocab(True).items()}
        marked = {index for index, token in library.get_added_tokens_decoder().items() if token.special}
        named = {library.token_to_id(text) for text in special_texts}
        self.special_ids: frozenset[int] = frozenset(index for index in marked | named if index is not None)
        """Ids that a reader of text does not see unless it asks for them."""
        self.size: int = library.get_vocab_size(with_added_tokens=True)
        """Entries, added tokens included."""
        self.max_id: int = max(self._pieces, default=-1)
        """The greatest id."""
        self.longest_piece: int = max(map(len, self._pieces.values()), default=0)
        """Characters of the longest entry."""

    @classmethod
    def from_json(cls, data: str | bytes, special_texts: Iterable[str] = ()) -> Self:
        """Build from the content of a `tokenizer.json`. Raises TokenizerError when it is none."""
        try:
            library = Tokenizer.from_str(data.decode() if isinstance(data, bytes) else data)
        except Exception as error:  # the library raises bare Exception
            raise TokenizerError(f"tokenizer.json is not a tokenizer this server can read: {error}") from error
        if isinstance(library.model, BPE) and library.model.dropout:
            raise TokenizerError(
                f"tokenizer.json: model.dropout is {library.model.dropout}, so equal texts would get different tokens; "
                "it must be null or 0"
            )
        library.no_truncation()
        library.no_padding()
        return cls(library, special_texts)

    def piece(self, token_id: int) -> str | None:
        """Give the entry of an id, None where there is none."""
        return self._pieces.get(token_id)

    def id_of(self, piece: str) -> int | None:
        """Give the id of an entry, None where there is none."""
        found: int | None = self._library.token_to_id(piece)
        return found

    def pieces(self, token_ids: Iterable[int], *, skip_special: bool) -> list[str]:
        """Give the entries of ids, "" for an unknown one, without special ones when they are skipped."""
        skipped = self.special_ids if skip_special else frozenset()
        return [self._pieces.get(each, "") for each in token_ids if each not in skipped]

    def join(self, pieces: Sequence[str]) -> str:
        """Give the text of pieces in a row; bytes that make no character become U+FFFD."""
        if self._decoder is None:
            return " ".join(pieces)
        text: str = self._decoder.decode(list(pieces))
        return text

    def decode(self, token_ids: Iterable[int]) -> str:
        """Give the text of ids at once, special tokens kept and unknown ids left out."""
        return self.join([piece for piece in map(self._pieces.get, token_ids) if piece is not None])

    def encode(self, text: str, *, add_special_tokens: bool) -> Encoding:
        """Give the tokens of a text, with those that the tokenizer puts around it if they are wanted."""
        if len(text) <= _RELEASE_LOCK_ABOVE:
            return self._library.encode(text, add_special_tokens=add_special_tokens)
        (encoding,) = self._library.encode_batch([text], add_special_tokens=add_special_tokens)
        return encoding
