"""Answers of a generate request, whole and in chunks (token-in/token-out contract, sections 5 and 7)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from vela_jax.generation.derendering.logprobs import PLACEHOLDER
from vela_jax.generation.logprobs import Candidate
from vela_jax.generation.requests import GenerateRequest
from vela_jax.generation.sequence import Delta, Generated
from vela_jax.generation.token_texts import MAX_CONTEXT, TokenTexts
from vela_jax.generation.vocabulary import Vocabulary

ID_PREFIX: Final = "generate-tokens-"


class Answers:
    """Shapes the answers of one request of the model that is served under `name`."""

    def __init__(
        self, request: GenerateRequest, name: str, vocabulary: Vocabulary, *, request_id: str, reports_cached: bool
    ) -> None:
        self.request_id = ID_PREFIX + request_id
        self._request = request
        self._name = name
        self._vocabulary = vocabulary
        self._reports_cached = reports_cached
        self._in_text = request.output_mode == "text"
        params = request.sampling_params
        self._wants_logprobs = params.logprobs is not None or params.logprob_token_ids is not None
        self._top = (
            None if params.logprob_token_ids is not None or params.logprobs == -1 else max(params.logprobs or 0, 1)
        )

    def whole(self, sequences: Sequence[Generated], deltas: Sequence[Sequence[Delta]]) -> dict[str, Any]:
        """The answer when all sequences have ended; `deltas` are those of each."""
        return_ids = bool(self._request.return_token_ids)
        return {
            "request_id": self.request_id,
            "model": self._name,
            "created": int(time.time()),
            "output_mode": self._request.output_mode,
            "choices": [self._choice(each.index, some) for each, some in zip(sequences, deltas, strict=True)],
            "usage": self._usage(sequences),
            "prompt_logprobs": self._prompt_logprobs(sequences[0]),
            "prompt_token_ids": self._request.token_ids if return_ids else None,
            "mm_placeholders": None,
            "kv_transfer_params": None,
            "ec_transfer_params": None,
            "metrics": None,
        }

    def chunk(self, sequence: Generated, delta: Delta, *, first: bool, tokens: int) -> dict[str, Any] | None:
        """The chunk of a delta, `tokens` being those of its sequence so far; None for one that says nothing."""
        if not (delta.token_ids or delta.finish or (self._in_text and delta.text)):
            return None
        start = tokens - len(delta.token_ids)
        usage = None
        if self._request.options.include_usage and self._request.options.continuous_usage_stats:
            usage = _counts(len(sequence.prompt), tokens)
        chunk: dict[str, Any] = {
            "request_id": self.request_id,
            "output_mode": self._request.output_mode,
            "choices": [self._choice(sequence.index, (delta,), sequence.output[max(0, start - MAX_CONTEXT) : start])],
            "usage": usage,
        }
        if first and self._request.return_token_ids:
            chunk["prompt_token_ids"] = self._request.token_ids
        return chunk

    def usage_chunk(self, sequences: Sequence[Generated]) -> dict[str, Any]:
        """The last chunk where usage is wanted; it holds no nulls."""
        usage = {name: value for name, value in self._usage(sequences).items() if value is not None}
        mode = self._request.output_mode
        return {"request_id": self.request_id, "output_mode": mode, "choices": [], "usage": usage}

    def _choice(self, index: int, deltas: Sequence[Delta], before: Sequence[int] = ()) -> dict[str, Any]:
        """A choice of deltas that follow the ids `before`."""
        choice: dict[str, Any] = {
            "index": index,
            "finish_reason": deltas[-1].finish if deltas else None,
            "token_ids": [token for delta in deltas for token in delta.token_ids],
            "routed_experts": None,
            "sampling_mask": None,
            "logprobs": self._logprobs(deltas, before),
        }
        if self._in_text:
            choice["text"] = "".join(delta.text for delta in deltas)
        return choice

    def _logprobs(self, deltas: Iterable[Delta], before: Sequence[int]) -> dict[str, Any] | None:
        if not self._wants_logprobs:
            return None
        texts = TokenTexts(self._vocabulary, before) if self._in_text else None
        content = []
        for found in (each for delta in deltas for each in delta.logprobs):
            entries = [_entry(each, texts) for each in found[: self._top]]
            content.append({**entries[0], "top_logprobs": entries})
            if texts is not None:
                texts.advance(found[0].token_id)
        return {"content": content}

    def _prompt_logprobs(self, sequence: Generated) -> list[dict[str, Any] | None] | None:
        if sequence.choice.prompt_logprobs is None:
            return None
        return [None, *(self._prompt_position(found) for found in sequence.prompt_values)]

    def _prompt_position(self, found: Sequence[Candidate]) -> dict[str, Any]:
        return {
            str(each.token_id): {
                "logprob": each.logprob,
                "rank": each.rank,
                "decoded_token": self._vocabulary.decode((each.token_id,)),
            }
            for each in found
        }

    def _usage(self, sequences: Sequence[Generated]) -> dict[str, Any]:
        usage: dict[str, Any] = _counts(len(sequences[0].prompt), sum(len(each.output) for each in sequences))
        cached = sequences[0].cached
        return {**usage, "prompt_tokens_details": {"cached_tokens": cached} if self._reports_cached else None}


def _entry(candidate: Candidate, texts: TokenTexts | None) -> dict[str, Any]:
    """A candidate by its id, or by its text where texts are told."""
    if texts is None:
        return {"token": f"{PLACEHOLDER}{candidate.token_id}", "logprob": candidate.logprob, "bytes": None}
    text = texts.text(candidate.token_id) or ""
    return {"token": text, "logprob": candidate.logprob, "bytes": list(text.encode())}


def _counts(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
