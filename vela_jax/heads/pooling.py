"""Pooling: from a row's hidden states to one vector (Vela 1.0 format, sections 7 and 12.1)."""

from __future__ import annotations

from enum import StrEnum

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int32

from vela_jax.layers.attention import real_tokens


class Pooling(StrEnum):
    """How one row of hidden states becomes one vector."""

    CLS = "cls"
    MEAN = "mean"
    LAST_TOKEN = "last_token"


def pool(
    hidden: Float[jax.Array, "B S D"], lengths: Int32[jax.Array, " B"], pooling: Pooling
) -> Float[jax.Array, "B D"]:
    """The pooled output. Special tokens count as tokens, padding never does; an empty row gives finite numbers."""
    match pooling:
        case Pooling.CLS:
            return hidden[:, 0]
        case Pooling.MEAN:
            return _mean(hidden, lengths)
        case Pooling.LAST_TOKEN:
            last = jnp.maximum(lengths - 1, 0)
            return jnp.take_along_axis(hidden, last[:, None, None], axis=1)[:, 0]


def _mean(hidden: jax.Array, lengths: jax.Array) -> jax.Array:
    """The mean over real tokens in FP32."""
    real = real_tokens(lengths, hidden.shape[1])[:, :, None]
    total = jnp.sum(jnp.where(real, hidden, 0.0), axis=1)
    return total / jnp.maximum(lengths, 1).astype(jnp.float32)[:, None]
