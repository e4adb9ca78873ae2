"""One sequence on its way: its prompt, what was generated, and how the next token is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.generation.detokenizer import IncrementalDetokenizer
from vela_jax.generation.logprobs import Candidate
from vela_jax.generation.sampling import Draw
from vela_jax.generation.stopping import Finish, StopRules, StopText

_LARGEST_BIAS: Final = 1e30  # finite in FP32, also when a logit is added


@dataclass(frozen=True, slots=True)
class Delta:
    """What a step added to a sequence: ids, log-probabilities of each where they are wanted, text, and the end."""

    token_ids: tuple[int, ...]
    logprobs: tuple[tuple[Candidate, ...], ...] = ()
    text: str = ""
    finish: Finish | None = None


Sink = Callable[["Generated", Delta], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """How tokens of a sequence are chosen and what is reported of them.

    Of the masks, `hidden` holds for every token, `unripe` only until `min_tokens` were generated. `bad_words` are id
    rows whose last id must not follow the others. `logprobs` None reports nothing, -1 all; `logprob_ids` names them.
    """

    vocabulary: int
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    penalties: tuple[float, float, float] = (1.0, 0.0, 0.0)
    seed: int = 0
    allowed: tuple[int, ...] | None = None
    bias: tuple[tuple[int, float], ...] = ()
    unripe: tuple[int, ...] = ()
    min_tokens: int = 0
    bad_words: tuple[tuple[int, ...], ...] = ()
    logprobs: int | None = None
    logprob_ids: tuple[int, ...] | None = None
    prompt_logprobs: int | None = None

    def with_seed(self, seed: int) -> Choice:
        """The same with another seed."""
        return replace(self, seed=seed)

    @property
    def is_plain(self) -> bool:
        """Whether the most probable token of the raw logits is taken, at every step."""
        free = self.allowed is None and not self.bias and not self.bad_words and not (self.unripe and self.min_tokens)
        return free and self.temperature == 0 and self.penalties == (1.0, 0.0, 0.0)


@dataclass(slots=True, eq=False)
class Generated:
    """One sequence of a request. All members but the first ones are the engine's.

    `computed` tokens of prompt and output have their keys in `pages`.
    """

    prompt: tuple[int, ...]
    choice: Choice
    rules: StopRules
    sink: Sink
    index: int = 0
    order: tuple[int, int] = (0, 0)  # priority, arrival
    keys: Sequence[bytes] = ()
    reads_prefix: bool = True
    detokenizer: IncrementalDetokenizer | None = None
    text: StopText = field(default_factory=StopText)
    decodes_end: bool = False
    output: list[int] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    computed: int = 0
    cached: int = 0
    prompt_values: list[list[Candidate]] = field(default_factory=list)
    finish: Finish | None = None
    aborted: bool = False
    _seen: Any = None
    _counts: Any = None
    _hidden: NDArray[np.bool_] | None = None
    _bias: Any = None

    @property
    def length(self) -> int:
        """Tokens so far."""
        return len(self.prompt) + len(self.output)

    @property
    def in_prompt(self) -> bool:
        """Whether tokens of the prompt are left to run."""
        return self.computed < len(self.prompt)

    def token(self, place: int) -> int:
        """The id that stands at a place."""
        split = len(self.prompt)
        return self.prompt[place] if place < split else self.output[place - split]

    def draw(self) -> Draw:
        """How the next token is drawn; `counted` follows it."""
        choice = self.choice
        if self._counts is None:
            self._prepare()
        return Draw(
            hidden=self._mask(),
            bias=self._bias,
            seen=self._seen,
            counts=self._counts,
            penalties=choice.penalties,
            temperature=choice.temperature,
            top_p=choice.top_p,
            min_p=choice.min_p,
            top_k=choice.top_k,
            seed=choice.seed,
            step=len(self.output),
        )

    def counted(self, counts: Any) -> None:
        """Keep the counts that a draw gave."""
        self._counts = counts

    def accept(self, token_id: int, logprobs: tuple[Candidate, ...] | None) -> Delta:
        """Append a token; `finish` is set when it ends the sequence."""
        self.output.append(token_id)
        finish = self.rules.finish(self.output)
        text = ""
        if self.detokenizer is not None:
            silent = finish is Finish.STOP and not self.decodes_end
            fresh = "" if silent else self.detokenizer.push((token_id,))
            if self.text.add(fresh, counts=len(self.output) > self.rules.min_tokens):
                finish = Finish.STOP
            text = self.text.emit(last=finish is not None)
        self.finish = finish
        return Delta((token_id,), () if logprobs is None else (logprobs,), text, finish)

    def _prepare(self) -> None:
        choice, size = self.choice, self.choice.vocabulary
        self._counts = np.zeros(size, np.int32)
        np.add.at(self._counts, self.output, 1)
        self._seen = np.zeros(size, np.bool_)
        self._seen[list(self.prompt)] = True
        hidden = np.zeros(size, np.bool_)
        if choice.allowed is not None:
            hidden[:] = True
            hidden[list(choice.allowed)] = False
        self._hidden = hidden
        self._bias = np.zeros(size, np.float32)
        for token_id, value in choice.bias:
            self._bias[token_id] = min(_LARGEST_BIAS, max(-_LARGEST_BIAS, value))

    def _mask(self) -> NDArray[np.bool_]:
        """The tokens that must not come next."""
        assert self._hidden is not None
        banned = [word[-1] for word in self.choice.bad_words if self._ends_with(word[:-1])]
        if len(self.output) < self.choice.min_tokens:
            banned += self.choice.unripe
        if not banned:
            return self._hidden
        mask = self._hidden.copy()
        mask[banned] = True
        return mask

    def _ends_with(self, ids: tuple[int, ...]) -> bool:
        return not ids or tuple(self.output[-len(ids) :]) == ids
