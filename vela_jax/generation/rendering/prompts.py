"""From a prompt's text or ids to the ids that generation takes: truncation, length limits, offsets (contract, 8.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vela_jax.generation.profile import Profile, Side
from vela_jax.generation.refusals import BadValue

Offsets = list[tuple[int, int]]

TOKEN_CHARACTERS: Final = 32
"""Characters a token may have on average over a text; a text with more of them is not tokenized."""
SHORT_TEXT: Final = 65_536
"""Characters that are tokenized in any case."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """What a prompt may be: `room` tokens at most; `keep` cuts it first, -1 to the room there is."""

    room: int
    keep: int | None
    side: Side

    @property
    def kept(self) -> int | None:
        """Tokens that truncation leaves, None without truncation."""
        return self.room if self.keep == -1 else self.keep


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenized prompt; offsets are code points of the text that was tokenized."""

    ids: list[int]
    offsets: Offsets | None


def lengths_of(profile: Profile, wanted_tokens: int | None, keep: int | None, side: Side | None) -> Lengths:
    """Settle the bounds of a prompt. Raises BadValue when more output is asked for than the model can ever give."""
    wanted = wanted_tokens or 0
    if wanted > profile.max_model_len:
        raise BadValue(
            f"max_tokens {wanted} is more than the model's max_model_len {profile.max_model_len}", "max_tokens"
        )
    return Lengths(profile.max_model_len - wanted, keep, side or profile.truncation_side)


def tokenize(profile: Profile, text: str, lengths: Lengths, *, add_special_tokens: bool, with_offsets: bool) -> Tokens:
    """Give a text's tokens. Raises BadValue when they are none, or too many."""
    most = max(SHORT_TEXT, TOKEN_CHARACTERS * profile.max_model_len)
    if len(text) > most:
        raise BadValue(
            f"the prompt has {len(text)} characters; at most {most} are tokenized, also with truncate_prompt_tokens: "
            "shorten it",
            "prompt",
        )
    encoding = profile.vocabulary.encode(text, add_special_tokens=add_special_tokens)
    ids: list[int] = encoding.ids
    kept = kept_places(encoding.special_tokens_mask, lengths)
    if kept is None:
        return _checked(Tokens(ids, encoding.offsets if with_offsets else None), lengths)
    offsets = [encoding.offsets[place] for place in kept] if with_offsets else None
    return _checked(Tokens([ids[place] for place in kept], offsets), lengths)


def accept_ids(profile: Profile, ids: list[int], lengths: Lengths) -> Tokens:
    """Give a prompt of ids, truncated. Raises BadValue for an id the model does not know, no ids, or too many."""
    strange = next((each for each in ids if not 0 <= each <= profile.max_id), None)
    if strange is not None:
        raise BadValue(f"prompt: token ids must be 0 to {profile.max_id}, got {strange}", "prompt")
    kept = kept_places([0] * len(ids), lengths)
    return _checked(Tokens(ids if kept is None else [ids[place] for place in kept], None), lengths)


def kept_places(special: list[int], lengths: Lengths) -> list[int] | None:
    """Give the places that truncation leaves, None when that is all.

    `special` is 1 at tokens that the tokenizer put around the text: they stay while there is room for any other.
    """
    count, wanted = len(special), lengths.kept
    if wanted is None or count <= wanted:
        return None
    head = next((place for place, mark in enumerate(special) if not mark), count)
    tail = next((place for place, mark in enumerate(reversed(special)) if not mark), count)
    if head + tail >= wanted:
        head = tail = 0
    middle = range(head, count - tail)
    inner = wanted - head - tail
    chosen = middle[len(middle) - inner :] if lengths.side == "left" else middle[:inner]
    return [*range(head), *chosen, *range(count - tail, count)]


def _checked(tokens: Tokens, lengths: Lengths) -> Tokens:
    if not tokens.ids:
        raise BadValue("the prompt has no tokens", "prompt")
    if len(tokens.ids) > lengths.room:
        raise _too_long(f"{len(tokens.ids)} tokens", lengths)
    return tokens


def _too_long(found: str, lengths: Lengths) -> BadValue:
    return BadValue(
        f"the prompt has {found} where {lengths.room} tokens fit (max_model_len less the output asked for): "
        "shorten it, ask for fewer tokens, or set truncate_prompt_tokens",
        "prompt",
    )
