"""The engine of one generator: sequences in, tokens out, one step at a time (token-in/token-out contract, section 13).

A step runs some pages of prompts, then one token of every sequence that is past its prompt. Sequences join and leave
between steps. When the cache is full, the sequence that would be served last gives up its pages; later it runs its
tokens again in the same way, so that it goes on with the same bits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from vela_jax.contract import DeviceFault
from vela_jax.forward.builder import Quiet
from vela_jax.generation.logprobs import Candidate, candidates, chosen_candidates
from vela_jax.generation.network import PAGE_BUCKETS, PROMPT_BLOCK, ROW_BUCKETS, GeneratorNetwork, Prefilled, Progress
from vela_jax.generation.pages import PagePool
from vela_jax.generation.probe import GeneratorProbe, Proof
from vela_jax.generation.sequence import Delta, Generated
from vela_jax.generation.stopping import Finish
from vela_jax.layers.paged_attention import PAGE

PROMPT_TOKENS: Final = 2 * PAGE
"""Padded tokens of prompts that a step runs at most before the other sequences get their next token."""

_log = logging.getLogger(__name__)


class Load(NamedTuple):
    """What the engine holds right now, and what became of its cache so far."""

    running: int
    waiting: int
    pages_used: int
    pages: int
    preemptions: int
    prompt_tokens: int
    cached_tokens: int


class TokenEngine:
    """Runs sequences. `submit` and `load` may be called from any thread, the others belong to one.

    `pages` are those of the cache that it uses, all by default. Until `warm` has proved that rows keep their bits
    beside others, one sequence a step runs. `quiet` learns that a step runs.
    """

    def __init__(
        self,
        network: GeneratorNetwork,
        *,
        max_num_seqs: int,
        prefix_caching: bool = True,
        pages: int | None = None,
        quiet: Quiet | None = None,
    ) -> None:
        self.network = network
        self._quiet = quiet or Quiet()
        self.proof = Proof(ROW_BUCKETS[:1], (), together=False)
        self._max_num_seqs = max_num_seqs
        self._shares = prefix_caching
        self._pool = PagePool(network.pages if pages is None else min(pages, network.pages))
        self._lock = threading.Lock()
        self._arrived: list[Generated] = []
        self._waiting: list[Generated] = []
        self._active: list[Generated] = []
        self._preemptions = self._prompt_tokens = self._cached_tokens = 0

    @property
    def load(self) -> Load:
        """How much is under way."""
        waiting = len(self._waiting) + len(self._arrived)
        pool = self._pool
        counts = self._preemptions, self._prompt_tokens, self._cached_tokens
        return Load(len(self._active), waiting, pool.used, pool.capacity, *counts)

    def warm(self, progress: Progress) -> None:
        """Compile every step, then prove which row counts keep a row's bits."""
        self.network.warm(progress)
        self.proof = GeneratorProbe(self.network).run()

    def report(self) -> list[dict[str, Any]]:
        """Lines for the card: tokens of a page, rows of a step in use, those that the probe refused, verdict."""
        return [
            {
                "length": 1,
                "depth": self.network.config.num_hidden_layers,
                "rows": list(self.proof.rows) if self.proof.together else [1],
                "rejected": list(self.proof.rejected),
                "verdict": "proved" if self.proof.together else "alone",
            }
        ]

    def submit(self, sequences: Sequence[Generated]) -> None:
        """Take sequences in; each goes on until its sink was told the end."""
        with self._lock:
            self._arrived.extend(sequences)

    def step(self) -> bool:
        """Bring every sequence one step on as far as there is room; False when there is nothing to do.

        Raises DeviceFault when the device is lost; every sequence was told before.
        """
        self._take_in()
        self._drop_aborted()
        self._admit()
        if not self._active:
            return False
        try:
            with self._quiet.running():
                self._run_prompts()
                self._run_tokens()
        except DeviceFault:
            self.fail_all()
            raise
        return True

    def fail_all(self) -> None:
        """End every sequence with an error."""
        self._take_in()
        for sequence in [*self._active, *self._waiting]:
            self._end(sequence, Finish.ERROR)

    def _take_in(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        if arrived:
            self._waiting.extend(arrived)
            self._waiting.sort(key=_order)

    def _drop_aborted(self) -> None:
        for sequence in [each for each in (*self._active, *self._waiting) if each.aborted]:
            self._end(sequence, Finish.ABORT)

    def _admit(self) -> None:
        """Let waiting sequences in, the first first, while there are seats and pages."""
        while self._waiting and len(self._active) < self._max_num_seqs:
            sequence = self._waiting[0]
            if self._active and self._pool.available < _pages(sequence.length + 1):
                return
            del self._waiting[0]
            self._active.append(sequence)
            self._active.sort(key=_order)
            self._start(sequence)

    def _start(self, sequence: Generated) -> None:
        """Hold what is known of the prompt's beginning."""
        if self._shares and sequence.reads_prefix:
            sequence.pages = self._pool.find(sequence.keys)
        sequence.computed = len(sequence.pages) * PAGE
        if not sequence.output:
            sequence.cached = sequence.computed
            self._prompt_tokens += len(sequence.prompt)
            self._cached_tokens += sequence.cached

    def _run_prompts(self) -> None:
        budget = PROMPT_TOKENS
        for sequence in [each for each in self._active if each.in_prompt]:
            while sequence.in_prompt and budget > 0:
                count = min(PAGE, len(sequence.prompt) - sequence.computed)
                if not self._make_room(sequence):
                    break
                budget -= next(width for width in PAGE_BUCKETS if width >= count)
                self._guard([sequence], self._run_page, sequence, count)

    def _run_page(self, sequence: Generated, count: int) -> None:
        start = sequence.computed
        ids = sequence.prompt[start : start + count]
        found = self.network.prefill(ids, start, self._table(sequence))
        if sequence.choice.prompt_logprobs is not None:
            self._read_prompt(sequence, start, count, found)
        sequence.computed += count
        page = start // PAGE
        if self._shares and page < len(sequence.keys):
            self._pool.publish(sequence.pages[page], sequence.keys[page])
        if not sequence.in_prompt and not sequence.output:
            self._choose(sequence, found.best, found.logits)

    def _read_prompt(self, sequence: Generated, start: int, count: int, found: Prefilled) -> None:
        """Report the prompt's own tokens: each from the logits before it."""
        wanted = sequence.choice.prompt_logprobs or 0
        for first in range(0, count, PROMPT_BLOCK):
            values = self.network.prompt_logprobs(found.hidden, first)
            for place in range(start + first, min(start + first + PROMPT_BLOCK, start + count)):
                # A prompt that runs again was read before.
                if place == len(sequence.prompt_values) and place + 1 < len(sequence.prompt):
                    row = candidates(values[place - start - first], sequence.prompt[place + 1], wanted)
                    sequence.prompt_values.append(row)

    def _run_tokens(self) -> None:
        past = [each for each in self._active if not each.in_prompt]
        for sequence in past:
            if not sequence.in_prompt:  # else it gave up its pages for another
                self._make_room(sequence)
        ready = [each for each in past if not each.in_prompt]
        at_once = self.proof.rows[-1] if self.proof.together else 1
        for start in range(0, len(ready), at_once):
            some = ready[start : start + at_once]
            self._guard(some, self._run_rows, some)

    def _run_rows(self, sequences: Sequence[Generated]) -> None:
        rows = next(count for count in self.proof.rows if count >= len(sequences))
        ids, places = np.zeros(rows, np.int32), np.zeros(rows, np.int32)
        tables = np.zeros((rows, self.network.table_width), np.int32)
        for row, sequence in enumerate(sequences):
            places[row] = sequence.computed
            ids[row] = sequence.token(sequence.computed)
            tables[row] = self._table(sequence)
        found = self.network.decode(ids, places, tables)
        for row, sequence in enumerate(sequences):
            sequence.computed += 1
            if sequence.computed == sequence.length:  # else its tokens run again
                self._choose(sequence, int(found.best[row]), found.logits[row])

    def _choose(self, sequence: Generated, best: int, logits: jax.Array) -> None:
        """Take the next token, report it, and end the sequence if it is the last."""
        if best < 0:
            _log.error("a sequence ended: its logits are not finite")
            self._end(sequence, Finish.ERROR)
            return
        token = best
        if not sequence.choice.is_plain:
            token, counts = self.network.sample(logits, sequence.draw())
            sequence.counted(counts)
        delta = sequence.accept(token, self._report(sequence, token, logits))
        if delta.finish is not None:
            self._leave(sequence)
        sequence.sink(sequence, delta)

    def _report(self, sequence: Generated, token: int, logits: jax.Array) -> tuple[Candidate, ...] | None:
        choice = sequence.choice
        if choice.logprobs is None and choice.logprob_ids is None:
            return None
        values = self.network.logprobs(logits)
        if choice.logprob_ids is not None:
            return tuple(chosen_candidates(values, token, choice.logprob_ids))
        return tuple(candidates(values, token, choice.logprobs or 0))

    def _make_room(self, sequence: Generated) -> bool:
        """Give a sequence the page of its next token; False when it had to give up its own."""
        while len(sequence.pages) * PAGE <= sequence.computed:
            page = self._pool.take()
            if page is not None:
                sequence.pages.append(page)
                continue
            last = max(self._active, key=_order)
            self._preempt(last)
            if last is sequence:
                return False
        return True

    def _preempt(self, sequence: Generated) -> None:
        self._preemptions += 1
        self._put_back(sequence)

    def _put_back(self, sequence: Generated) -> None:
        self._active.remove(sequence)
        self._pool.release(sequence.pages)
        sequence.pages, sequence.computed = [], 0
        self._waiting.append(sequence)
        self._waiting.sort(key=_order)

    def _guard(self, sequences: Sequence[Generated], run: object, *arguments: object) -> None:
        """Run part of a step; when it fails its sequences end with an error, and the others begin anew.

        The cache is lost with a failed step: it was handed over to it.
        """
        try:
            run(*arguments)  # type: ignore[operator]
        except DeviceFault:
            raise
        except Exception:
            _log.exception("a step failed; %d sequences end", len(sequences))
            for sequence in sequences:
                if sequence.finish is None:
                    self._end(sequence, Finish.ERROR)
            for sequence in list(self._active):
                self._put_back(sequence)
            self._pool.forget()
            self.network.clear()

    def _end(self, sequence: Generated, finish: Finish) -> None:
        sequence.finish = finish
        self._leave(sequence)
        sequence.sink(sequence, Delta((), (), sequence.text.emit(last=True), finish))

    def _leave(self, sequence: Generated) -> None:
        if sequence in self._active:
            self._active.remove(sequence)
            self._pool.release(sequence.pages)
            sequence.pages = []
        else:
            self._waiting.remove(sequence)

    def _table(self, sequence: Generated) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        table = np.zeros(self.network.table_width, np.int32)
        table[: len(sequence.pages)] = sequence.pages
        return table


def _order(sequence: Generated) -> tuple[int, int]:
    return sequence.order


def _pages(tokens: int) -> int:
    return -(-tokens // PAGE)
