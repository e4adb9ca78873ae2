"""Log-probabilities with placeholders resolved to text (token-in/token-out contract, section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from vela_jax.generation.derendering.requests import Logprob, Logprobs
from vela_jax.generation.derendering.state import MAX_CONTEXT
from vela_jax.generation.detokenizer import REPLACEMENT
from vela_jax.generation.vocabulary import Vocabulary

PLACEHOLDER: Final = "token_id:"
_LONGEST_ID: Final = 20  # characters of a 64-bit integer


def chat_logprobs(logprobs: Logprobs | None, vocabulary: Vocabulary, context: Sequence[int] = ()) -> Any:
    """Give the chat form; `context` are the last ids before the first entry."""
    if logprobs is None or logprobs.content is None:
        return None if logprobs is None else {"content": None}
    resolver = _Resolver(vocabulary, context)
    content = []
    for entry in logprobs.content:
        resolved = resolver.entry(entry)
        content.append({**resolved, "top_logprobs": [resolver.entry(each) for each in entry.top_logprobs]})
        resolver.advance(entry)
    return {"content": content}


def completion_logprobs(
    logprobs: Logprobs | None, vocabulary: Vocabulary, context: Sequence[int] = (), offset: int = 0
) -> Any:
    """Give the completion form, parallel lists; `offset` is the length of the text before the first entry."""
    if logprobs is None:
        return None
    listed: dict[str, list[Any]] = {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []}
    for entry in (chat_logprobs(logprobs, vocabulary, context) or {})["content"] or ():
        listed["text_offset"].append(offset)
        listed["token_logprobs"].append(entry["logprob"])
        listed["tokens"].append(entry["token"])
        listed["top_logprobs"].append({each["token"]: each["logprob"] for each in entry["top_logprobs"]} or None)
        offset += len(entry["token"])
    return listed


def advance_context(context: Sequence[int], token_ids: Sequence[int]) -> list[int]:
    """Give the context behind more ids."""
    return [*context, *token_ids][-MAX_CONTEXT:]


class _Resolver:
    """Resolves the entries of a sequence in order: a split character is told by the ids before it."""

    def __init__(self, vocabulary: Vocabulary, context: Sequence[int]) -> None:
        self._vocabulary = vocabulary
        self._context = list(context)

    def entry(self, entry: Logprob) -> dict[str, Any]:
        """Give an entry with the text of its token."""
        token_id = _id_of(entry)
        if token_id is None:
            token = "" if entry.token is UNSET else entry.token
            return {"token": token, "logprob": entry.logprob, "bytes": entry.bytes}
        token, known = self._text(token_id)
        octets = list(token.encode("utf-8", "replace")) if known else None
        return {"token": token, "logprob": entry.logprob, "bytes": octets}

    def advance(self, entry: Logprob) -> None:
        """Go behind an entry."""
        token_id = _id_of(entry)
        if token_id is not None:
            self._context = advance_context(self._context, [token_id])

    def _text(self, token_id: int) -> tuple[str, bool]:
        piece = self._vocabulary.piece(token_id)
        if piece is None:
            return "", False
        text = self._vocabulary.join([piece])
        return (self._corrected(token_id) if text.endswith(REPLACEMENT) else text), True

    def _corrected(self, token_id: int) -> str:
        """Give the text that an id adds to those before it, "" while it ends inside a character."""
        decode = self._vocabulary.decode
        for count in range(1, min(len(self._context), MAX_CONTEXT) + 1):
            before = self._context[-count:]
            full = decode([*before, token_id])
            if full.endswith(REPLACEMENT):
                continue
            whole = count
            while whole and decode([before[whole - 1]]).endswith(REPLACEMENT):
                whole -= 1
            prefix = decode(before[:whole]) if whole else ""
            return full[_shared_length(full, prefix) :]
        return ""


def _shared_length(first: str, second: str) -> int:
    """Give the length of the longest common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))


def _id_of(entry: Logprob) -> int | None:
    """Give the id that an entry stands for, None where it holds text."""
    if entry.token is UNSET:
        return None if entry.token_id is UNSET else entry.token_id
    token = entry.token
    digits = token.removeprefix(PLACEHOLDER)
    if len(digits) == len(token) or len(digits) > _LONGEST_ID:
        return None
    plain = digits.removeprefix("-")
    return int(digits) if plain.isascii() and plain.isdigit() else None
