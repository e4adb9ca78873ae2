"""Softmax attention of rows with padding at their end: full, causal, and within a sliding window.

Queries of full attention are [B K G T H]: G query heads share each of K key-value heads (G is 1 where every head has
its own).
Shapes decide how a result is computed, and never the number of rows, so a row's bits do not depend on it.
Products are in full FP32. A padding key gets exactly zero weight. Where a query sees no key at all (the whole of an
empty row) the weights are equal and the result is finite and of no meaning.
"""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Bool, Float, Int32

SCORES_AT_ONCE: Final = 1 << 20  # scores computed at once in full attention: 4 MiB of FP32, of one row or one head
LEAST_BLOCK: Final = 16  # least queries in a block of full attention
WINDOW_BLOCK: Final = 64  # least queries in a block of sliding attention
WINDOW_BLOCKS_AT_ONCE: Final = 32  # blocks of one row computed at once in sliding attention

_HIDDEN: Final = float(np.finfo(np.float32).min)  # score of a key that is not seen; finite, so that no row gives NaN


def real_tokens(lengths: Int32[jax.Array, " B"], width: int) -> Bool[jax.Array, "B S"]:
    """The padding mask: true at the first `lengths` positions of each row."""
    return jnp.arange(width, dtype=jnp.int32)[None, :] < lengths[:, None]


def full_attention(
    q: Float[jax.Array, "B K G T H"],
    k: Float[jax.Array, "B K S H"],
    v: Float[jax.Array, "B K S H"],
    lengths: Int32[jax.Array, " B"],
    *,
    causal: bool = False,
) -> Float[jax.Array, "B K G T H"]:
    """Every query sees the real keys of its row; with `causal`, those not after it (T = S)."""
    rows, heads, group, width, features = q.shape
    if heads * group * width * width <= SCORES_AT_ONCE:
        seen = _seen(lengths, width, np.tile(np.arange(width), group), causal)
        return attend(q.reshape(rows, heads, group * width, features), k, v, seen).reshape(q.shape)
    alone = (
        q.reshape(rows * heads, group, width, features),
        k.reshape(rows * heads, width, features),
        v.reshape(rows * heads, width, features),
        jnp.repeat(lengths, heads),
    )
    mixed: jax.Array = lax.map(lambda one: _head_in_blocks(one[0], one[1], one[2], one[3], causal), alone)
    return mixed.reshape(q.shape)


def block_queries(group: int, width: int) -> int:
    """Queries of one block of a head over `width` keys: a power of two, or all of them."""
    if group * width * width <= SCORES_AT_ONCE:
        return width
    fitting = SCORES_AT_ONCE // (group * width)
    return max(LEAST_BLOCK, (1 << fitting.bit_length()) >> 1)


def _seen(lengths: jax.Array, width: int, places: jax.Array | np.ndarray, causal: bool) -> jax.Array:
    """The attention mask [B 1 T S] of queries at `places`, or [B 1 1 S] where it is the same for all of them."""
    keys = np.arange(width, dtype=np.int32)
    real = real_tokens(lengths, width)[:, None, None, :]
    return real & (keys[None, :] <= places[:, None])[None, None] if causal else real


def _head_in_blocks(q: jax.Array, k: jax.Array, v: jax.Array, length: jax.Array, causal: bool) -> jax.Array:
    """Full attention of one head of one row, some queries at a time: memory does not grow with the square of T.

    q is [G T H], k and v are [S H].
    """
    group, width, features = q.shape
    block = block_queries(group, width)
    count = -(-width // block)
    q = jnp.pad(q, ((0, 0), (0, count * block - width), (0, 0)))

    def part(start: jax.Array) -> jax.Array:
        some = lax.dynamic_slice_in_dim(q, start, block, axis=1).reshape(group * block, features)
        places = start + np.tile(np.arange(block, dtype=np.int32), group)
        return attend(some[None, None], k[None, None], v[None, None], _seen(length[None], width, places, causal))

    parts: jax.Array = lax.map(part, jnp.arange(count, dtype=jnp.int32) * block)
    parts = parts.reshape(count, group, block, features).transpose(1, 0, 2, 3)
    return parts.reshape(group, count * block, features)[:, :width]


def attend(q: jax.Array, k: jax.Array, v: jax.Array, seen: jax.Array) -> jax.Array:
    """Softmax attention of q [... T H] over k and v [... S H]; `seen` broadcasts to [... T S], false hides a key."""
    scores = products(q * q.shape[-1] ** -0.5, k, over=2)
    scores = jnp.where(seen, scores, _HIDDEN)
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    return products(weights, v, over=1) / jnp.sum(weights, axis=-1, keepdims=True)


def products(a: jax.Array, b: jax.Array, *, over: int) -> jax.Array:
    """Matrix products of the last two axes, over the last axis of `a` and axis `over` of each matrix of `b`.

    The leading axes are made one: of several, the compiler treats one of length 1 otherwise, and bits would differ.
    """
    flat_a, flat_b = (x.reshape(-1, *x.shape[-2:]) for x in (a, b))
    dimensions = (((2,), (over,)), ((0,), (0,)))
    y: jax.Array = lax.dot_general(flat_a, flat_b, dimensions, precision=lax.Precision.HIGHEST)
    return y.reshape(*a.shape[:-1], y.shape[-1])


def sliding_attention(
    q: Float[jax.Array, "B N T H"],
    k: Float[jax.Array, "B N T H"],
    v: Float[jax.Array, "B N T H"],
    lengths: Int32[jax.Array, " B"],
    *,
    half_window: int,
) -> Float[jax.Array, "B N T H"]:
    """Query i sees the real keys j of its row with |i - j| <= `half_window`."""
    width = k.shape[2]
    block = max(half_window, WINDOW_BLOCK)
    if width > 3 * block:
        return _in_band(q, k, v, lengths, block, half_window)
    places = np.arange(width)
    near = np.abs(places[:, None] - places[None, :]) <= half_window
    return attend(q, k, v, real_tokens(lengths, width)[:, None, None, :] & near[None, None])


def _in_band(q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array, block: int, half_window: int) -> jax.Array:
    """Sliding attention: each block of queries reads its own block of keys and the two beside it."""
    width = q.shape[2]
    count = -(-width // block)
    at_once = min(count, WINDOW_BLOCKS_AT_ONCE)
    chunks = -(-count // at_once)
    span = at_once * block  # queries of a chunk
    tail = chunks * span - width
    q = jnp.pad(q, ((0, 0), (0, 0), (0, tail), (0, 0)))
    k, v = (jnp.pad(x, ((0, 0), (0, 0), (block, tail + block), (0, 0))) for x in (k, v))
    if chunks == 1:
        return _band_chunk(q, k, v, lengths, 0, block, half_window)[:, :, :width]

    def row(one: tuple[jax.Array, jax.Array, jax.Array, jax.Array]) -> jax.Array:
        queries, keys, values, length = (x[None] for x in one)

        def part(start: jax.Array) -> jax.Array:
            some = lax.dynamic_slice_in_dim(queries, start, span, axis=2)
            near_keys, near_values = (
                lax.dynamic_slice_in_dim(x, start, span + 2 * block, axis=2) for x in (keys, values)
            )
            return _band_chunk(some, near_keys, near_values, length, start, block, half_window)[0]

        parts: jax.Array = lax.map(part, jnp.arange(chunks, dtype=jnp.int32) * span)  # [chunks N span H]
        heads, features = parts.shape[1], parts.shape[3]
        return parts.transpose(1, 0, 2, 3).reshape(heads, chunks * span, features)[:, :width]

    mixed: jax.Array = lax.map(row, (q, k, v, lengths))
    return mixed


def _band_chunk(
    q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array, start: jax.Array | int, block: int, half_window: int
) -> jax.Array:
    """Sliding attention of the queries from `start` on; keys and values begin one block before them.

    The mask of one block, for half window 2 and blocks of 3 (x: seen where the key is real):

        before  own    after
        . x x   x x x  . . .
        . . x   x x x  x . .
        . . .   x x x  x x .
    """
    rows, heads, span, features = q.shape
    count = span // block
    own = np.arange(block)[:, None] + block
    near = np.abs(own - np.arange(3 * block)[None, :]) <= half_window  # [block, 3 block]
    in_chunk = np.arange(count)[:, None] * block + np.arange(3 * block)[None, :] - block
    places = start + jnp.asarray(in_chunk, jnp.int32)
    real = (places >= 0)[None] & (places[None] < lengths[:, None, None])  # [rows, blocks, 3 block]
    seen = real[:, None, :, None, :] & near[None, None, None]
    q = q.reshape(rows, heads, count, block, features)
    return attend(q, _bands(k, block), _bands(v, block), seen).reshape(rows, heads, span, features)


def _bands(x: jax.Array, block: int) -> jax.Array:
    """From [rows, heads, (count + 2) block, H] to [rows, heads, count, 3 block, H]: each block with its neighbours."""
    rows, heads, width, features = x.shape
    blocks = x.reshape(rows, heads, width // block, block, features)
    return jnp.concatenate([blocks[:, :, :-2], blocks[:, :, 1:-1], blocks[:, :, 2:]], axis=3)
