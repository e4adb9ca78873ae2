"""How tokens are drawn: the members of `sampling_params`, their bounds, and their JSON (token-in/token-out, 4)."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from vela_jax.generation.refusals import BadBody, BadValue

MAX_SEQUENCES: Final = 16_384
MAX_LOGPROB_IDS: Final = 128
COLDEST: Final = 0.01
"""Temperatures between 0 and this are raised to it."""
HOTTEST: Final = 2.0
GREEDY_BELOW: Final = 1e-5
FINAL_ONLY: Final = 2
DELTA: Final = 1
_CONSTRAINTS: Final = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")


class RepetitionDetection(msgspec.Struct, frozen=True, kw_only=True):
    """When a repeating tail ends a sequence."""

    max_pattern_size: int = 0
    min_pattern_size: int = 0
    min_count: int = 0


class SamplingParams(msgspec.Struct, kw_only=True):
    """The public members in their order, with their defaults. `normalize` brings them into one form and checks them."""

    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    bad_words: list[str] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | bool | None = None
    prompt_logprobs: int | bool | None = None
    logprob_token_ids: list[int] | None = None
    detokenize: bool = True
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False
    output_kind: int = 0
    stream_interval: int | None = None
    structured_outputs: dict[str, Any] | None = None
    logit_bias: dict[int, float] | None = None
    allowed_token_ids: list[int] | None = None
    extra_args: dict[str, Any] | None = None
    skip_reading_prefix_cache: bool | None = None
    thinking_token_budget: int | float | None = None
    repetition_detection: RepetitionDetection | None = None
    routed_experts_prompt_start: int = 0

    @property
    def is_greedy(self) -> bool:
        """Whether the most probable token is taken."""
        return self.temperature < GREEDY_BELOW

    @property
    def stops(self) -> list[str]:
        """The stop strings as a list."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    def normalize(self) -> None:
        """Bring lists, counts and the temperature into their one form, then refuse what is out of bounds.

        Raises BadBody with the member as its parameter. Bounds that depend on the model are the engine's.
        """
        self.stop = list(self.stops)
        self.stop_token_ids = list(dict.fromkeys(self.stop_token_ids or ()))
        self.bad_words = list(dict.fromkeys(self.bad_words or ()))
        self.seed = None if self.seed == -1 else self.seed
        self.logprobs = _count(self.logprobs)
        self.prompt_logprobs = _count(self.prompt_logprobs)
        self.top_k = max(self.top_k, 0) if self.top_k >= -1 else self.top_k
        if self.skip_reading_prefix_cache is None:
            self.skip_reading_prefix_cache = self.prompt_logprobs is not None
        self._check_numbers()
        self._check_lists()
        self._check_lengths()
        self._check_groups()
        if self.thinking_token_budget == -1:
            self.thinking_token_budget = None
        if 0 < self.temperature < COLDEST:
            self.temperature = COLDEST
        if self.is_greedy:
            _require(self.n == 1, "n", self.n, "1 when temperature is 0: equal sequences would be drawn")
            self.top_p, self.top_k, self.min_p = 1.0, 0, 0.0

    def _check_numbers(self) -> None:
        _require(1 <= self.n <= MAX_SEQUENCES, "n", self.n, f"1 to {MAX_SEQUENCES}")
        for name in ("presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            _require(-2 <= value <= 2, name, value, "from -2 to 2")
        penalty = self.repetition_penalty
        _require(math.isfinite(penalty) and penalty > 0, "repetition_penalty", penalty, "finite and above 0")
        _require(0 <= self.temperature <= HOTTEST, "temperature", self.temperature, f"from 0 to {HOTTEST:g}")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and at most 1")
        _require(self.top_k >= 0, "top_k", self.top_k, "at least -1; 0 and -1 mean off")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "from 0 to 1")
        if self.seed is not None:
            _require(-(2**63) <= self.seed < 2**63, "seed", self.seed, "a 64-bit integer")

    def _check_lists(self) -> None:
        stops = self.stops
        _require("" not in stops, "stop", "an empty string", "texts of at least one character")
        _require(not stops or self.detokenize, "stop", "stop strings", "absent when detokenize is false")
        _require("" not in (self.bad_words or ()), "bad_words", "an empty string", "texts of at least one character")
        ids = self.logprob_token_ids
        if ids is not None:
            few = len(ids) <= MAX_LOGPROB_IDS
            _require(few, "logprob_token_ids", f"{len(ids)} ids", f"at most {MAX_LOGPROB_IDS}")
            same = self.logprobs is None or self.logprobs == len(ids)
            _require(same, "logprobs", self.logprobs, f"{len(ids)} as many as logprob_token_ids, or absent")
        _require(self.allowed_token_ids != [], "allowed_token_ids", "an empty list", "null or at least one id")

    def _check_lengths(self) -> None:
        if self.max_tokens is not None:
            _require(self.max_tokens >= 1, "max_tokens", self.max_tokens, "at least 1, or null for all that fits")
            low = self.min_tokens <= self.max_tokens
            _require(low, "min_tokens", self.min_tokens, f"at most max_tokens, which is {self.max_tokens}")
        _require(self.min_tokens >= 0, "min_tokens", self.min_tokens, "at least 0")
        for name in ("logprobs", "prompt_logprobs"):
            value = getattr(self, name)
            _require(value is None or value >= -1, name, value, "at least -1, which means the whole vocabulary")
        interval = self.stream_interval
        _require(interval is None or interval >= 1, "stream_interval", interval, "at least 1")

    def _check_groups(self) -> None:
        check_constraints(self.structured_outputs)
        budget = self.thinking_token_budget
        whole = isinstance(budget, int) and not isinstance(budget, bool)
        _require(budget is None or (whole and budget >= -1), "thinking_token_budget", budget, "an integer from -1 on")
        repeats = self.repetition_detection
        if repeats is not None:
            sizes = 0 <= repeats.min_pattern_size <= repeats.max_pattern_size
            counted = repeats.min_count >= 2 or (repeats.max_pattern_size == 0 and repeats.min_count >= 0)
            allowed = "0 <= min_pattern_size <= max_pattern_size, and min_count from 2 on"
            _require(sizes and counted, "repetition_detection", msgspec.to_builtins(repeats), allowed)


def check_constraints(constraints: dict[str, Any] | None) -> None:
    """Refuse structured outputs that name no form, or more than one. Raises BadBody."""
    if constraints is None:
        return
    given = [name for name in _CONSTRAINTS if constraints.get(name) not in (None, False)]
    _require(len(given) == 1, "structured_outputs", given, f"exactly one of {', '.join(_CONSTRAINTS)}")


def bias_of(members: dict[str, Any] | None) -> dict[int, float] | None:
    """Read `logit_bias` as a client sends it: keys are integers in text, values are held to +-100. Raises BadValue."""
    if members is None:
        return None
    bias: dict[int, float] = {}
    for key, value in members.items():
        if not key.removeprefix("-").isdecimal() or len(key) > len(str(2**63)):
            raise BadValue(f"logit_bias: {key[:80]!r} is no token id; keys must be integers", "logit_bias")
        bias[int(key)] = min(100.0, max(-100.0, float(value)))
    return bias


def _count(value: int | bool | None) -> int | None:
    return None if value is None else int(value)


def _require(holds: bool, member: str, found: object, allowed: str) -> None:
    if not holds:
        shown = repr(found) if not isinstance(found, str) else found
        raise BadBody(f"{member} must be {allowed}, got {shown[:80]}", member)
