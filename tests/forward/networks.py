"""Small networks for the engine, one that keeps its promises and ways to break them; and the wait for its builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from vela_jax.contract import Readout, Row
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.network import Network

PATIENCE = 60
VOCAB = 50
SUM, TOKENS = Readout("sum", 2), Readout("tokens", 2, per_token=True)
Apply = Callable[[jax.Array, jax.Array, jax.Array, int], Mapping[str, jax.Array]]


class Traces:
    """Counts the shapes that a network was traced for."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def apply(self, params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
        """Scaled values of ids, and their sum."""
        self.shapes.append(ids.shape)
        return honest(params, ids, lengths, depth)


def honest(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Rows that know nothing of each other."""
    table = jnp.arange(VOCAB, dtype=jnp.float32) * params
    values = jnp.take(table, ids, mode="fill", fill_value=jnp.nan) * jnp.float32(depth)
    mask = jnp.arange(ids.shape[1])[None, :] < lengths[:, None]
    return {"sum": jnp.sum(jnp.where(mask, values, 0.0), axis=1), "tokens": values}


def leaking(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Every row gets a little of the others."""
    found = honest(params, ids, lengths, depth)
    return {**found, "sum": found["sum"] + jnp.float32(1e-3) * jnp.mean(found["sum"], keepdims=True)}


def placed(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """A row's place shows in its value."""
    found = honest(params, ids, lengths, depth)
    return {**found, "sum": found["sum"] + jnp.arange(ids.shape[0], dtype=jnp.float32)}


def lone_differs(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """One row alone is computed in another way."""
    found = honest(params, ids, lengths, depth)
    return {**found, "sum": found["sum"] + jnp.float32(1.0 if ids.shape[0] == 1 else 0.0)}


def eight_differs(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Eight rows and more are computed in another way."""
    found = honest(params, ids, lengths, depth)
    return {**found, "sum": found["sum"] + jnp.float32(1.0 if ids.shape[0] >= 8 else 0.0)}


def poisoned(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Only values that are not finite leak, by way of a product with zero."""
    found = honest(params, ids, lengths, depth)
    return {**found, "sum": found["sum"] + jnp.sum(found["sum"] * jnp.float32(0), keepdims=True)}


def network(apply: Apply = honest, max_length: int = 64) -> Network:
    """A network of the small vocabulary."""
    return Network(apply, jnp.float32(2.0), max_length, VOCAB, (1, 2), frozenset({"tokens"}))


def row(*ids: int, readout: Readout = SUM) -> Row:
    """A row of ids."""
    return Row(np.array(ids, np.int32), readout)


def settle(model: BucketEngine) -> None:
    """Wait until the background has nothing left: work may add work behind what is waited for."""
    quiet = 0
    while quiet < 2:
        model._builder.add(lambda: None, urgent=False).result(PATIENCE)
        quiet = 0 if model._builder._tasks else quiet + 1
