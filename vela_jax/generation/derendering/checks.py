"""What a model's bounds refuse before anything is decoded (token-in/token-out contract, section 9.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vela_jax.generation.derendering.requests import (
    GenerateResponse,
    StreamChoice,
    StreamState,
)
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadValue

MAX_CHOICES: Final = 16_384


def check_whole(responses: Sequence[GenerateResponse], profile: Profile) -> None:
    """Refuse too many or too long sequences, and empty ones. Raises BadValue."""
    if len(responses) > MAX_CHOICES:
        raise BadValue(f"generate_responses: responses count {len(responses)} exceeds {MAX_CHOICES}")
    count = sum(len(response.choices) for response in responses)
    if count > MAX_CHOICES:
        raise BadValue(f"choices count {count} exceeds {MAX_CHOICES}")
    for response in responses:
        _check_length(len(response.prompt_logprobs or ()), "prompt_logprobs", profile)
        for choice in response.choices:
            _check_choice(choice, profile)
    for response in responses:
        for choice in response.choices:
            if not choice.token_ids:
                raise BadValue(f"choice {choice.index} has no token_ids: there is nothing to derender", "token_ids")


def check_chunk(choices: Sequence[StreamChoice], state: StreamState | None, profile: Profile) -> None:
    """Refuse several choices in a chunk, and an output longer than the model can write. Raises BadValue."""
    if len(choices) > 1:
        raise BadValue(f"generate_chunk must have at most one choice, got {len(choices)}", "generate_chunk")
    for choice in choices:
        _check_choice(choice, profile)
        before = len(state.output_token_ids) if state else 0
        total = before + len(choice.token_ids or ())
        if total > profile.max_model_len:
            raise BadValue(
                f"stream_state and generate_chunk hold {total} output ids, more than max_model_len "
                f"{profile.max_model_len}",
                "stream_state",
            )


def _check_choice(choice: StreamChoice, profile: Profile) -> None:
    entries = (choice.logprobs and choice.logprobs.content) or ()
    _check_length(len(choice.token_ids or ()), "token_ids", profile)
    _check_length(len(entries), "logprobs.content", profile)
    most = max((len(entry.top_logprobs) for entry in entries), default=0)
    if 0 <= profile.max_logprobs < most:
        raise BadValue(f"top_logprobs has {most} entries, more than max_logprobs {profile.max_logprobs}", "logprobs")


def _check_length(length: int, name: str, profile: Profile) -> None:
    if length > profile.max_model_len:
        raise BadValue(f"{name} has {length} items, more than max_model_len {profile.max_model_len}", name)
