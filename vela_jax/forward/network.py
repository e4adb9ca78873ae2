"""What the engine runs: a pure function, its param tree, and what it can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

Outputs = Mapping[str, jax.Array]


@dataclass(frozen=True, slots=True)
class Network:
    """A model as a function of rows.

    `apply(params, ids, lengths, depth)` takes ids int32 [B S] padded with 0 and lengths int32 [B] (0 for an empty
    row), runs `depth` layers and gives the readouts found there by name, each [B ...] in float32. An id beyond the
    vocabulary reads as NaN, so that a row of such ids shows whether values leak between rows.
    """

    apply: Callable[[Any, jax.Array, jax.Array, int], Outputs]
    params: Any
    max_length: int
    vocab_size: int
    depths: tuple[int, ...]  # exits that requests can ask for; the last is the usual one
    per_token: frozenset[str] = frozenset()  # readouts with a token axis: [B S ...]

    @property
    def memory_bytes(self) -> int:
        """Bytes of the param tree."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.params))
