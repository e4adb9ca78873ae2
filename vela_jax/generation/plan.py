"""From a checked generate request to sequences: bounds of the model, and how tokens are chosen (contract, 4 and 6)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vela_jax.generation.detokenizer import IncrementalDetokenizer
from vela_jax.generation.pages import prefix_keys
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadValue
from vela_jax.generation.requests import GenerateRequest
from vela_jax.generation.sampling_params import SamplingParams
from vela_jax.generation.sequence import Choice, Generated, Sink
from vela_jax.generation.spec import EngineOptions
from vela_jax.generation.stopping import StopRules, StopText

MAX_STOPS: Final = 128
MAX_BAD_WORDS: Final = 1_024
_SEEDS: Final = 2**64


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans requests for one model. May be used from any thread."""

    profile: Profile
    options: EngineOptions

    def sequences(self, request: GenerateRequest, given: frozenset[str], arrival: int, sink: Sink) -> list[Generated]:
        """Give the sequences of a request, `n` of them. Raises BadValue for what this model does not take.

        `given` are the sampling parameters that the body held: without `max_tokens` the context is filled.
        """
        params = request.sampling_params
        self._check(request)
        prompt = tuple(request.token_ids)
        rules, unripe = self._rules(params, given, len(prompt))
        keys = prefix_keys(prompt, request.cache_salt) if self.options.prefix_caching else ()
        seed = secrets.randbelow(_SEEDS) if params.seed is None else params.seed
        choice = self._choice(params, unripe)
        reads_text = request.output_mode == "text" or bool(params.stops)
        return [
            Generated(
                prompt=prompt,
                choice=choice.with_seed((seed + index) % _SEEDS),
                rules=rules,
                sink=sink,
                index=index,
                order=(request.priority, arrival + index),
                keys=keys,
                reads_prefix=not params.skip_reading_prefix_cache,
                detokenizer=self._detokenizer(params, prompt) if reads_text else None,
                text=StopText(tuple(params.stops), params.include_stop_str_in_output),
                decodes_end=params.include_stop_str_in_output,
            )
            for index in range(params.n)
        ]

    def _check(self, request: GenerateRequest) -> None:
        params, profile = request.sampling_params, self.profile
        if params.n > self.options.max_num_seqs:
            raise BadValue(f"n must be at most max_num_seqs {self.options.max_num_seqs}, got {params.n}", "n")
        if request.features is not None or request.content_parts:
            raise BadValue("this model reads text only: leave features and content_parts out", "features")
        if request.priority and self.options.scheduling != "priority":
            raise BadValue("priority must be 0: this model is served first come, first served", "priority")
        length, limit = len(request.token_ids), profile.max_model_len
        if length >= limit:
            raise BadValue(
                f"token_ids has {length} ids, max_model_len is {limit}: a prompt and one more token must fit",
                "token_ids",
            )
        _check_ids("token_ids", request.token_ids, profile.vocabulary_size)
        for name in ("stop_token_ids", "allowed_token_ids", "logprob_token_ids", "logit_bias"):
            _check_ids(name, getattr(params, name) or (), profile.vocabulary_size)
        self._check_counts(params)
        for name, most, count in (
            ("stop", MAX_STOPS, len(params.stops)),
            ("bad_words", MAX_BAD_WORDS, len(params.bad_words or ())),
        ):
            if count > most:
                raise BadValue(f"{name} must hold at most {most} texts, got {count}", name)
        if params.structured_outputs is not None:
            raise BadValue("structured_outputs is not served: leave it out", "structured_outputs")
        if params.thinking_token_budget is not None:
            raise BadValue("thinking_token_budget is not served: leave it out", "thinking_token_budget")

    def _check_counts(self, params: SamplingParams) -> None:
        most = self.profile.max_logprobs
        for name in ("logprobs", "prompt_logprobs"):
            value = getattr(params, name)
            if value is None or most < 0 or (name == "logprobs" and params.logprob_token_ids is not None):
                continue
            if not 0 <= value <= most:
                raise BadValue(f"{name} must be at most max_logprobs {most}, got {value}", name)

    def _rules(self, params: SamplingParams, given: frozenset[str], prompt: int) -> tuple[StopRules, tuple[int, ...]]:
        """When a sequence ends, and the ids that cannot come before `min_tokens` did."""
        room = self.profile.max_model_len - prompt
        most = room if params.max_tokens is None else params.max_tokens
        if "max_tokens" not in given:
            default = self.profile.defaults.max_new_tokens
            most = room if default is None else min(room, default)
        asked, ends = frozenset(params.stop_token_ids or ()), frozenset(self.profile.eos_ids)
        repeats = params.repetition_detection
        sizes = range(0)
        if repeats is not None and repeats.max_pattern_size:
            sizes = range(max(repeats.min_pattern_size, 1), repeats.max_pattern_size + 1)
        rules = StopRules(
            stop_ids=asked if params.ignore_eos else asked | ends,
            max_tokens=most,
            min_tokens=params.min_tokens,
            room=room,
            pattern_sizes=sizes,
            pattern_count=repeats.min_count if repeats is not None else 0,
        )
        return rules, tuple(sorted(each for each in asked | ends if each < self.profile.vocabulary_size))

    def _choice(self, params: SamplingParams, unripe: tuple[int, ...]) -> Choice:
        return Choice(
            vocabulary=self.profile.vocabulary_size,
            temperature=0.0 if params.is_greedy else params.temperature,
            top_p=params.top_p,
            top_k=min(params.top_k, self.profile.vocabulary_size),
            min_p=params.min_p,
            penalties=(params.repetition_penalty, params.frequency_penalty, params.presence_penalty),
            allowed=None if params.allowed_token_ids is None else tuple(params.allowed_token_ids),
            bias=tuple((params.logit_bias or {}).items()),
            unripe=unripe,
            min_tokens=params.min_tokens,
            bad_words=tuple(self._banned(params.bad_words or ())),
            logprobs=None if params.logprobs is None else int(params.logprobs),
            logprob_ids=None if params.logprob_token_ids is None else tuple(params.logprob_token_ids),
            prompt_logprobs=None if params.prompt_logprobs is None else int(params.prompt_logprobs),
        )

    def _banned(self, words: Iterable[str]) -> Iterable[tuple[int, ...]]:
        """The ids of each word, at the start of a text and within one."""
        vocabulary = self.profile.vocabulary
        for word in words:
            plain = word.lstrip()
            alone, within = (
                tuple(vocabulary.encode(text, add_special_tokens=False).ids) for text in (plain, f" {plain}")
            )
            if not alone:
                raise BadValue(f"bad_words: {word[:80]!r} has no token", "bad_words")
            yield alone
            if within and within[0] != alone[0] and len(within) == len(alone):
                yield within

    def _detokenizer(self, params: SamplingParams, prompt: tuple[int, ...]) -> IncrementalDetokenizer:
        skip = params.skip_special_tokens
        return IncrementalDetokenizer(self.profile.vocabulary, skip_special_tokens=skip, seed_ids=prompt)


def _check_ids(name: str, ids: Iterable[int], size: int) -> None:
    wrong = next((each for each in ids if not 0 <= each < size), None)
    if wrong is not None:
        raise BadValue(f"{name} must hold ids from 0 to {size - 1}, got {str(wrong)[:80]}", name)
