"""The exactness probe of a generator: does a row keep its bits at every place, beside any company, in any row count?

Random prompts are run, then one token of each is decoded alone and together; the bytes of the logits are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vela_jax.forward.probe import arrangements
from vela_jax.generation.network import ROW_BUCKETS, GeneratorNetwork, Ids
from vela_jax.layers.paged_attention import PAGE

SEED: Final = 20_260
LENGTHS: Final = (1, 15, PAGE, PAGE + 1, 2 * PAGE + 7)
"""Tokens before the probed one: at the edges of pages, on one page and on several."""
_POISON: Final = -3


@dataclass(frozen=True, slots=True)
class Proof:
    """Row counts whose rows keep their bits, and those whose rows do not; `together` tells whether rows may be joined.

    Where even the smallest count does not hold, it runs one row beside empty ones.
    """

    rows: tuple[int, ...]
    rejected: tuple[int, ...]
    together: bool


@dataclass(frozen=True, slots=True)
class _Target:
    token: int
    place: int
    table: Ids


class GeneratorProbe:
    """Probes one network; its cache is empty afterwards."""

    def __init__(self, network: GeneratorNetwork) -> None:
        self._network = network
        self._source = np.random.default_rng(SEED)

    def run(self) -> Proof:
        """Prefill the targets, decode each alone, and compare what every row count gives."""
        targets = self._targets()
        smallest = ROW_BUCKETS[0]
        found: dict[int, bytes] = {}
        alone = ((each, *(-1,) * (smallest - 1)) for each in range(len(targets)))
        assert self._agree(targets, smallest, alone, found)  # one row at one place has nothing to differ from
        agreeing = [
            count for count in ROW_BUCKETS if self._agree(targets, count, arrangements(count, len(targets)), found)
        ]
        self._network.clear()
        rejected = tuple(count for count in ROW_BUCKETS if count not in agreeing)
        together = smallest in agreeing
        return Proof(tuple(agreeing) if together else (smallest,), rejected, together)

    def _targets(self) -> list[_Target]:
        targets = []
        page = 2  # page 1 is the poison's
        for length in LENGTHS:
            if length >= self._network.max_length:
                continue
            ids = self._source.integers(0, self._network.config.vocab_size, length + 1)
            table = np.zeros(self._network.table_width, np.int32)
            held = length // PAGE + 1
            if page + held > self._network.pages:
                break
            table[:held] = np.arange(page, page + held)
            page += held
            for start in range(0, length, PAGE):
                self._network.prefill([int(each) for each in ids[start : min(start + PAGE, length)]], start, table)
            targets.append(_Target(int(ids[length]), length, table))
        return targets

    def _agree(
        self, targets: Sequence[_Target], count: int, all_slots: Iterator[tuple[int, ...]], found: dict[int, bytes]
    ) -> bool:
        """Whether every target has the known bits in every arrangement; bits of unknown targets become known."""
        for slots in all_slots:
            ids, places = np.zeros(count, np.int32), np.zeros(count, np.int32)
            tables = np.zeros((count, self._network.table_width), np.int32)
            seen: set[int] = set()
            for row, content in enumerate(slots):
                if content in seen:
                    continue  # one sequence has one row
                if content >= 0:
                    seen.add(content)
                    target = targets[content]
                    ids[row], places[row], tables[row] = target.token, target.place, target.table
                elif content == _POISON and content not in seen:
                    seen.add(content)
                    ids[row], tables[row, 0] = self._network.config.vocab_size, 1
            logits = self._network.decode(ids, places, tables).logits
            for row, content in enumerate(slots):
                if content >= 0 and places[row] == targets[content].place and tables[row].any():
                    bits = np.asarray(logits[row]).tobytes()
                    if found.setdefault(content, bits) != bits:
                        return False
        return True
