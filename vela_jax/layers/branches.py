"""Softmax attention of branches: texts that each continue one prefix, and see it and themselves alone.

Branches are computed one after another, so that a branch's bits do not depend on how many there are.
"""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int32

from vela_jax.layers.attention import LEAST_BLOCK, SCORES_AT_ONCE, attend

_NEVER: Final = int(np.iinfo(np.int32).max)  # the place of a key that no query sees


def branch_attention(
    q: Float[jax.Array, "B K G T H"],
    k: Float[jax.Array, "B K T H"],
    v: Float[jax.Array, "B K T H"],
    prefix_k: Float[jax.Array, "K P H"],
    prefix_v: Float[jax.Array, "K P H"],
    prefix_length: Int32[jax.Array, ""],
) -> Float[jax.Array, "B K G T H"]:
    """Each query sees the first `prefix_length` keys of the prefix and those of its branch that are not after it."""
    width, own = prefix_k.shape[1], k.shape[2]
    places = jnp.arange(width + own, dtype=jnp.int32)
    places = jnp.where((places < prefix_length) | (places >= width), places, _NEVER)

    def branch(one: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        queries, keys, values = one
        keys, values = jnp.concatenate([prefix_k, keys], axis=1), jnp.concatenate([prefix_v, values], axis=1)
        return _after(queries, keys, values, places, width)

    mixed: jax.Array = lax.map(branch, (q, k, v))
    return mixed


def _after(q: jax.Array, k: jax.Array, v: jax.Array, places: jax.Array, first: int) -> jax.Array:
    """Attention of the queries [K G T H] of one branch, which stand at `first` and after, over keys at `places` [S]."""
    heads, group, length, features = q.shape
    if heads * group * length * k.shape[1] <= SCORES_AT_ONCE:
        own = first + np.tile(np.arange(length, dtype=np.int32), group)
        seen = places[None, :] <= own[:, None]
        return attend(q.reshape(heads, group * length, features), k, v, seen[None]).reshape(q.shape)
    mixed: jax.Array = lax.map(lambda one: _head(one[0], one[1], one[2], places, first), (q, k, v))
    return mixed


def _head(q: jax.Array, k: jax.Array, v: jax.Array, places: jax.Array, first: int) -> jax.Array:
    """One head, some queries at a time; q is [G T H], k and v are [S H]."""
    group, length, features = q.shape
    fitting = SCORES_AT_ONCE // (group * k.shape[0])
    block = min(length, max(LEAST_BLOCK, (1 << fitting.bit_length()) >> 1))
    count = -(-length // block)
    q = jnp.pad(q, ((0, 0), (0, count * block - length), (0, 0)))

    def part(start: jax.Array) -> jax.Array:
        some = lax.dynamic_slice_in_dim(q, start, block, axis=1).reshape(group * block, features)
        own = first + start + np.tile(np.arange(block, dtype=np.int32), group)
        return attend(some[None], k[None], v[None], (places[None, :] <= own[:, None])[None])

    parts: jax.Array = lax.map(part, jnp.arange(count, dtype=jnp.int32) * block)
    parts = parts.reshape(count, group, block, features).transpose(1, 0, 2, 3)
    return parts.reshape(group, count * block, features)[:, :length]
