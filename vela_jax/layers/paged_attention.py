"""Softmax attention over keys and values that are kept in pages, reduced page by page.

The order of every sum follows from the row's own length: pages behind a row's end leave its sums as they are, bit for
bit, so rows of any lengths can be attended together.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int32

PAGE: Final = 64
"""Tokens of a page: of the cache, of a step of prefill, of a shared prefix, of a partial sum."""

_HIDDEN: Final = float(np.finfo(np.float32).min)  # score of a key that is not seen; finite, so that no row gives NaN


class PagedKeys(NamedTuple):
    """The cache of one layer."""

    k: Float[jax.Array, "P K S H"]
    v: Float[jax.Array, "P K S H"]


def empty_pages(count: int, heads: int, width: int) -> PagedKeys:
    """A cache of `count` pages of zeros."""
    shape = (count, heads, PAGE, width)
    return PagedKeys(jnp.zeros(shape, jnp.float32), jnp.zeros(shape, jnp.float32))


def write_page(
    cache: PagedKeys, page: Int32[jax.Array, ""], k: Float[jax.Array, "T K H"], v: Float[jax.Array, "T K H"]
) -> PagedKeys:
    """Put the keys and values of up to a page of tokens at the start of a page."""
    start = (page, jnp.int32(0), jnp.int32(0), jnp.int32(0))

    def put(old: jax.Array, x: jax.Array) -> jax.Array:
        placed: jax.Array = lax.dynamic_update_slice(old, x.transpose(1, 0, 2)[None], start)
        return placed

    return PagedKeys(put(cache.k, k), put(cache.v, v))


def write_tokens(
    cache: PagedKeys,
    pages: Int32[jax.Array, " B"],
    places: Int32[jax.Array, " B"],
    k: Float[jax.Array, "B K H"],
    v: Float[jax.Array, "B K H"],
) -> PagedKeys:
    """Put one token a row at a place of a page."""
    return PagedKeys(cache.k.at[pages, :, places].set(k), cache.v.at[pages, :, places].set(v))


def paged_attention(
    q: Float[jax.Array, "B K T H"],
    cache: PagedKeys,
    tables: Int32[jax.Array, "B P"],
    seen: Int32[jax.Array, "B T"],
    pages: Int32[jax.Array, ""],
) -> Float[jax.Array, "B K T H"]:
    """Each query sees the first `seen` keys of its row; `tables` lists the pages of a row, `pages` are read of each.

    `pages` reaches behind the last key that any query sees. A query that sees nothing gives a finite result.
    """
    rows, heads, queries, width = q.shape
    flat = (q * width**-0.5).reshape(rows * heads, queries, width)
    last = jnp.max(seen, axis=1)  # [B]

    def step(index: jax.Array, state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        peak, total, mixed = state
        page = lax.dynamic_index_in_dim(tables, index, axis=1, keepdims=False)  # [B]
        places = index * PAGE + jnp.arange(PAGE, dtype=jnp.int32)
        k = cache.k[page].reshape(rows * heads, PAGE, width)
        # What lies behind the row's end is some other row's; zero times that could be NaN.
        v = jnp.where((places[None, :] < last[:, None])[:, None, :, None], cache.v[page], 0.0)
        visible = jnp.repeat(places[None, None, :] < seen[:, :, None], heads, axis=0)  # [B*K T S]
        scores = jnp.where(visible, _product(flat, k, 2), _HIDDEN)
        higher = jnp.maximum(peak, jnp.max(scores, axis=-1))
        kept = jnp.exp(peak - higher)
        weights = jnp.exp(scores - higher[..., None])
        total = total * kept + jnp.sum(weights, axis=-1)
        mixed = mixed * kept[..., None] + _product(weights, v.reshape(rows * heads, PAGE, width), 1)
        return higher, total, mixed

    start = (
        jnp.full((rows * heads, queries), _HIDDEN, jnp.float32),
        jnp.zeros((rows * heads, queries), jnp.float32),
        jnp.zeros((rows * heads, queries, width), jnp.float32),
    )
    _, total, mixed = lax.fori_loop(jnp.int32(0), pages, step, start)
    result: jax.Array = mixed / total[..., None]
    return result.reshape(rows, heads, queries, width)


def _product(a: jax.Array, b: jax.Array, over: int) -> jax.Array:
    dimensions = (((2,), (over,)), ((0,), (0,)))
    y: jax.Array = lax.dot_general(a, b, dimensions, precision=lax.Precision.HIGHEST)
    return y
