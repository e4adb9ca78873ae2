"""The exactness probe: does a row keep its bits at every place, beside any company, in every row count?

Random rows are run alone and together, and the bytes of their readouts are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from vela_jax.forward.executables import Executables, Ids, Shape
from vela_jax.forward.network import Network, Outputs, State

SEED: Final = 20260
SPECIAL_IDS: Final = 5  # ids that tokenizers keep for special tokens
RUNS_ALONE: Final = 2

Bits = Mapping[tuple[int, str], bytes]  # by target and readout
Run = Callable[..., Outputs]


class Company(IntEnum):
    """What stands in a slot that holds no target."""

    EMPTY = -1
    NOISE = -2
    POISON = -3  # a row whose values are NaN


class Prober:
    """Probes the executables of one network with rows from a fixed generator.

    `pause` is called before each forward, so that the probe can stand back for requests.
    """

    def __init__(self, network: Network, executables: Executables, pause: Callable[[], None] = lambda: None) -> None:
        self._network = network
        self._executables = executables
        self._pause = pause

    def bits(self, shape: Shape) -> Bits | None:
        """Readouts of the targets in a compiled shape; None when they depend on place, company, call or instance."""
        before = self._before(shape)
        found = self._collect(shape, partial(self._executables.run, shape, *before), {})
        if found is None:
            return None
        return self._collect(shape, partial(self._executables.second_instance(shape), *before), found)

    def _before(self, shape: Shape) -> tuple[State, ...]:
        """A random state of a full prefix, where rows of the shape continue one."""
        if not shape.room:
            return ()
        source = np.random.default_rng((SEED, shape.room))

        def drawn(leaf: jax.ShapeDtypeStruct) -> NDArray[Any]:
            if jnp.issubdtype(leaf.dtype, jnp.integer):
                return np.full(leaf.shape, shape.room, leaf.dtype)
            values: NDArray[Any] = source.standard_normal(leaf.shape, np.float32).astype(leaf.dtype)
            return values

        return (self._executables.placed(jax.tree.map(drawn, self._executables.state(shape.room))),)

    def _collect(self, shape: Shape, run: Run, known: Bits) -> Bits | None:
        """Bits of all targets over all arrangements; None at the first that differ from the known or from others."""
        targets = self.targets(shape.length)
        found = dict(known)
        for slots in arrangements(shape.rows, len(targets)):
            self._pause()
            outputs = {name: np.asarray(values) for name, values in run(*self._fill(shape, slots, targets)).items()}
            for slot, target in enumerate(slots):
                if target < 0:
                    continue
                for name, values in outputs.items():
                    kept = values[slot, : len(targets[target])] if name in self._network.per_token else values[slot]
                    if found.setdefault((target, name), kept.tobytes()) != kept.tobytes():
                        return None
        return found

    def targets(self, length: int) -> list[Ids]:
        """Random rows from one token to the full bucket."""
        source = np.random.default_rng((SEED, length))
        sizes = sorted({1, min(2, length), length // 2 + 1, max(1, length - 1), length})
        return [self._random(source, size) for size in sizes]

    def _random(self, source: np.random.Generator, size: int) -> Ids:
        lowest = min(SPECIAL_IDS, self._network.vocab_size - 1)
        return source.integers(lowest, self._network.vocab_size, size, dtype=np.int32)

    def _marks_of(self, ids: Ids) -> list[Ids]:
        """Random marks [S] of a row, equal for equal rows."""
        source = np.random.default_rng((SEED, len(ids), int(ids.sum(dtype=np.int64))))
        return [source.integers(0, mark.limit or len(ids), len(ids), dtype=np.int32) for mark in self._network.marks]

    def _fill(self, shape: Shape, slots: tuple[int, ...], targets: list[Ids]) -> tuple[Ids, ...]:
        source = np.random.default_rng((SEED, shape.length, *(slot - Company.POISON for slot in slots)))
        ids, lengths, *marks = inputs = self._executables.empty_inputs(shape)
        for slot, content in enumerate(slots):
            if content == Company.EMPTY:
                continue
            row = targets[content] if content >= 0 else self._random(source, shape.length)
            if content == Company.POISON:
                row = np.full(shape.length, self._network.vocab_size, np.int32)
            ids[slot, : len(row)] = row
            lengths[slot] = len(row)
            if marks:
                marks[0][slot, :, : len(row)] = self._marks_of(row)
        return inputs


def arrangements(count: int, targets: int) -> Iterator[tuple[int, ...]]:
    """Which target or company stands in each slot: every target comes to every slot, beside targets and all company."""
    for turn in range(targets):
        rotated = tuple((slot + turn) % targets for slot in range(count))
        yield rotated
        if count > 1:
            yield rotated[::-1]
    if count == 1:
        for _ in range(RUNS_ALONE - 1):
            yield from ((target,) for target in range(targets))
        return
    for company in Company:
        for parity in (0, 1):
            yield tuple(int(company) if slot % 2 == parity else (slot // 2) % targets for slot in range(count))
