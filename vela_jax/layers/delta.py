"""The gated delta rule in chunks (Vela 2.0 format, section 11.5; "Gated Delta Networks", arXiv 2412.06464).

A head's state S [H V] maps keys to values. Each token first fades it, then corrects what it holds under its key:

    S <- exp(g) S;  S <- S + k (beta (v - S^T k))^T;  o = S^T q

Within a chunk the corrections are solved for at once, so that a text of T tokens takes T / 64 steps of matrix
products. A token with g = 0 and beta = 0 leaves the state as it is: that is how padding is passed over.
"""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from vela_jax.layers.attention import products

CHUNK: Final = 64
_LEAST_CHUNK: Final = 8
_NORM_EPS: Final = 1e-6


def gated_delta_rule(
    q: Float[jax.Array, "B T N H"],
    k: Float[jax.Array, "B T N H"],
    v: Float[jax.Array, "B T N V"],
    decay: Float[jax.Array, "B T N"],
    beta: Float[jax.Array, "B T N"],
    state: Float[jax.Array, "B N H V"],
) -> tuple[Float[jax.Array, "B T N V"], Float[jax.Array, "B N H V"]]:
    """The outputs of tokens that begin with `state`, and the state after the last; `decay` is g, never positive.

    Queries and keys are normalized here, queries scaled by H^-0.5.
    """
    rows, length, heads, values = v.shape
    chunk = chunk_length(length)
    q, k = _unit(q) * q.shape[-1] ** -0.5, _unit(k)
    q, k, v, weight, fading = (
        _in_chunks(x, chunk) for x in (q, k, v, beta[..., None], decay[..., None])
    )  # [chunks, B N, chunk, features]
    count, rest = q.shape[0], q.shape[1:3]
    faded = jnp.cumsum(fading[..., 0], axis=-1)  # log of what is left of the state at the chunk's start
    between = _between(faded.reshape(-1, chunk))
    keys, weighted = k.reshape(-1, *k.shape[2:]), (k * weight).reshape(-1, *k.shape[2:])
    before = np.tril(np.ones((chunk, chunk), np.bool_), -1)[None]
    inverse = unit_lower_inverse(jnp.where(before, products(weighted, keys, over=2) * between, 0.0))
    own = products(inverse, (v * weight).reshape(-1, chunk, values), over=1)
    of_state = products(inverse, weighted * jnp.exp(faded).reshape(-1, chunk, 1), over=1)
    seen = products(q.reshape(keys.shape), keys, over=2) * between
    left = jnp.exp(faded[..., -1])  # [chunks, B N]
    steps = (
        own.reshape(v.shape),
        of_state.reshape(k.shape),
        seen.reshape(count, *rest, chunk),
        q * jnp.exp(faded)[..., None],
        k * jnp.exp(faded[..., -1:] - faded)[..., None],
        left[..., None, None],
    )
    last, out = lax.scan(_step, state.reshape(-1, *state.shape[2:]), steps)
    out = out.reshape(count, rows, heads, chunk, values).transpose(1, 0, 3, 2, 4)
    return out.reshape(rows, count * chunk, heads, values)[:, :length], last.reshape(state.shape)


def chunk_length(length: int) -> int:
    """Tokens of a chunk of a text: a power of two, 64 but for shorter texts."""
    return min(CHUNK, max(_LEAST_CHUNK, 1 << (length - 1).bit_length()))


def unit_lower_inverse(lower: Float[jax.Array, "M C C"]) -> Float[jax.Array, "M C C"]:
    """The inverse of 1 + `lower`, whose entries on and above the diagonal are 0; C is a power of two.

    Blocks on the diagonal are inverted, and joined two by two:

        A .      inverse      A' .
        C B     --------->   -B'CA' B'

    No powers of `lower` are formed: with equal keys they would be larger than FP32 can cancel.
    """
    many, width, _ = lower.shape
    inverse = jnp.ones((many, width, 1, 1), lower.dtype)
    size = 1
    while size < width:
        count = width // (2 * size)
        blocks = lower.reshape(many, count, 2, size, count, 2, size)[:, :, 1, :, :, 0, :]
        below = jnp.diagonal(blocks, axis1=1, axis2=3).transpose(0, 3, 1, 2)
        pairs = inverse.reshape(many, count, 2, size, size)
        upper, under = pairs[:, :, 0], pairs[:, :, 1]
        corner = -products(products(under, below, over=1), upper, over=1)
        top = jnp.concatenate([upper, jnp.zeros_like(upper)], axis=-1)
        inverse = jnp.concatenate([top, jnp.concatenate([corner, under], axis=-1)], axis=-2)
        size *= 2
    return inverse.reshape(many, width, width)


def _step(state: jax.Array, chunk: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
    """One chunk of all rows and heads: the state after it, and its outputs."""
    own, of_state, seen, q, k, left = chunk
    corrections = own - products(of_state, state, over=1)
    out = products(q, state, over=1) + products(seen, corrections, over=1)
    return left * state + products(k.swapaxes(1, 2), corrections, over=1), out


def _in_chunks(x: jax.Array, chunk: int) -> jax.Array:
    """From [B T N F] to [chunks, B N, chunk, F], zeros at the end."""
    rows, length, heads, features = x.shape
    count = -(-length // chunk)
    x = jnp.pad(x, ((0, 0), (0, count * chunk - length), (0, 0), (0, 0)))
    x = x.reshape(rows, count, chunk, heads, features).transpose(1, 0, 3, 2, 4)
    return x.reshape(count, rows * heads, chunk, features)


def _between(faded: jax.Array) -> jax.Array:
    """What token i sees of a correction of token j <= i: [M C C], 0 where j > i."""
    past = np.tril(np.ones((faded.shape[-1],) * 2, np.bool_))[None]
    return jnp.where(past, jnp.exp(jnp.where(past, faded[:, :, None] - faded[:, None, :], 0.0)), 0.0)


def _unit(x: jax.Array) -> jax.Array:
    return x * lax.rsqrt(jnp.sum(jnp.square(x), axis=-1, keepdims=True) + _NORM_EPS)
