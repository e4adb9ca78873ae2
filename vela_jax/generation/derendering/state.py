"""The state of a derendered stream: what a client may send back (token-in/token-out contract, section 9.1)."""

from __future__ import annotations

from typing import Final

from vela_jax.generation.derendering.requests import StreamState
from vela_jax.generation.detokenizer import Window
from vela_jax.generation.refusals import BadBody, BadValue
from vela_jax.generation.token_texts import MAX_CONTEXT

MAX_WINDOW: Final = 1_024
"""Pieces that a state may hold."""
LONGEST_PIECE: Final = 1_024
"""Characters of a piece that are always let pass; a longer one must be an entry of the vocabulary."""


def check_state(state: StreamState) -> None:
    """Refuse members out of bounds. Raises BadBody."""
    _require(len(state.prev_tokens) <= MAX_WINDOW, "prev_tokens", f"hold at most {MAX_WINDOW} pieces")
    for name in ("prefix_offset", "read_offset", "logprob_text_offset"):
        _require(0 <= getattr(state, name) < 2**63, name, "be at least 0")
    _require(
        len(state.logprob_context_token_ids) <= MAX_CONTEXT,
        "logprob_context_token_ids",
        f"hold at most {MAX_CONTEXT} ids",
    )
    lengths = state.output_chunk_lens
    _require(all(length > 0 for length in lengths), "output_chunk_lens", "hold lengths above 0")
    count = len(state.output_token_ids)
    _require(sum(lengths) == count, "output_chunk_lens", f"sum up to the {count} output_token_ids")


def window_of(state: StreamState, longest_piece: int) -> Window:
    """Give the window of a state. Raises BadValue when no answer of the server can have held it."""
    if any(len(piece) > max(longest_piece, LONGEST_PIECE) for piece in state.prev_tokens):
        raise BadValue(
            "invalid stream_state: prev_tokens holds a piece longer than any of the vocabulary", "stream_state"
        )
    try:
        return Window(tuple(state.prev_tokens), state.prefix_offset, state.read_offset)
    except ValueError as error:
        raise BadValue(f"invalid stream_state: {error}; send back the last one unchanged", "stream_state") from None


def _require(holds: bool, member: str, rule: str) -> None:
    if not holds:
        place = f"stream_state.{member}"
        raise BadBody(f"{place} must {rule}; send back the last stream_state unchanged", place)
