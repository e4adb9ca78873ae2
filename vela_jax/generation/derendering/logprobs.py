"""Log-probabilities with placeholders resolved to text (token-in/token-out contract, section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from vela_jax.generation.derendering.requests import Logprob, Logprobs
from vela_jax.generation.token_texts import TokenTexts
from vela_jax.generation.vocabulary import Vocabulary

PLACEHOLDER: Final = "token_id:"
_LONGEST_ID: Final = 20  # characters of a 64-bit integer


def chat_logprobs(logprobs: Logprobs | None, vocabulary: Vocabulary, context: Sequence[int] = ()) -> Any:
    """Give the chat form; `context` are the last ids before the first entry."""
    if logprobs is None or logprobs.content is None:
        return None if logprobs is None else {"content": None}
    texts = TokenTexts(vocabulary, context)
    content = []
    for position in logprobs.content:
        alternatives = [_entry(each, texts) for each in position.top_logprobs]
        content.append({**_entry(position, texts), "top_logprobs": alternatives})
        token_id = _id_of(position)
        if token_id is not None:
            texts.advance(token_id)
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


def _entry(entry: Logprob, texts: TokenTexts) -> dict[str, Any]:
    """Give an entry with the text of its token."""
    token_id = _id_of(entry)
    if token_id is None:
        token = "" if entry.token is UNSET else entry.token
        return {"token": token, "logprob": entry.logprob, "bytes": entry.bytes}
    text = texts.text(token_id)
    octets = None if text is None else list(text.encode())
    return {"token": text or "", "logprob": entry.logprob, "bytes": octets}


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
