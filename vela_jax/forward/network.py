"""What the engine runs: a pure function, its param tree, and what it can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
from flax import nnx

Outputs = Mapping[str, jax.Array]
State = Any
"""What a prefix hands over to the rows that continue it: a tree of arrays."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One int32 a token that a row carries beside its ids: values from 0 up to, not including, `limit`.

    Without a limit the values are positions in the row. Past the row's end they are 0.
    """

    name: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """A model as a function of rows.

    `apply(params, ids, lengths, depth)` takes ids int32 [B S] padded with 0 and lengths int32 [B] (0 for an empty
    row), runs `depth` layers and gives the readouts found there by name, each [B ...] in float32. An id beyond the
    vocabulary reads as NaN, so that a row of such ids shows whether values leak between rows. A network with `marks`
    is called as `apply(params, ids, lengths, marks, depth)`, marks int32 [B K S] in the order of `marks`.

    Rows of a network with `read_prefix` continue a prefix, each by itself: `read_prefix(params, ids, lengths, room)`
    reads ids [1 S], S at most `room`, and hands over a state whose shapes follow from `room` alone; it is the argument
    of `apply` behind `params`. Its integers are numbers of tokens.
    """

    apply: Callable[..., Outputs]
    params: Any
    max_length: int
    vocab_size: int
    depths: tuple[int, ...]  # exits that requests can ask for; the last is the usual one
    per_token: frozenset[str] = frozenset()  # readouts with a token axis: [B S ...]
    marks: tuple[Mark, ...] = ()
    read_prefix: Callable[..., State] | None = None

    @property
    def memory_bytes(self) -> int:
        """Bytes of the param tree."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.params))


def pure_network(graphdef: Any, params: Any, max_length: int) -> Network:
    """A split module as the engine runs it: the graph is merged while tracing only.

    The module has a `backbone` with a config, the attributes `depths`, `per_token` and `marks` of its network, and a
    method `read_prefix` where its rows continue prefixes.
    """

    def apply(params: Any, *inputs: Any) -> Outputs:
        readouts: Outputs = nnx.merge(graphdef, params)(*inputs)
        return readouts

    def read_prefix(params: Any, *inputs: Any) -> State:
        return nnx.merge(graphdef, params).read_prefix(*inputs)

    module = nnx.merge(graphdef, params)
    vocab_size: int = module.backbone.config.vocab_size
    return Network(
        apply,
        params,
        max_length,
        vocab_size,
        tuple(module.depths),
        frozenset(module.per_token),
        tuple(module.marks),
        read_prefix if hasattr(module, "read_prefix") else None,
    )
