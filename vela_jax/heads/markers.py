"""The marker head: logits of options against a question and a pooled part, and of tokens against labels.

(Vela 2.0 format, section 6.)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.layers.linear import Linear
from vela_jax.layers.norms import LayerNorm

SEGMENTS: Final = 3  # user, context, answer, counted from 1; 0 is any other token
POOLS: Final = ((1, 1), (2, 2), (3, 3), (1, 2), (2, 3), (1, 3))
"""Ranges of segments, first and last, that a question can read."""
MOST_LABELS: Final = 256
_NORM_EPS: Final = 1e-5
_LEAST_NORM: Final = 1e-12


class MarkerReadout(StrEnum):
    """What an option's logit is: its cosine with the pooled part, a network of its own state, or their sum."""

    COSINE = "cosine"
    MLP = "mlp"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class MarkerConfig:
    """The values of `config.json` that decide the head."""

    hidden_size: int
    proj_dim: int
    readout: MarkerReadout


class MarkerHead(nnx.Module):
    """Attributes are named as in the checkpoint, but for the two layers of its `cls_mlp`."""

    def __init__(self, config: MarkerConfig, *, rngs: nnx.Rngs) -> None:
        hidden, proj = config.hidden_size, config.proj_dim
        self.norm = LayerNorm(hidden, eps=_NORM_EPS, bias=True)
        self.w_o = Linear(hidden, proj, bias=True, rngs=rngs)
        self.w_q = Linear(hidden, proj, bias=True, rngs=rngs)
        self.w_p = Linear(hidden, proj, bias=True, rngs=rngs)
        self.w_t = Linear(hidden, proj, bias=True, rngs=rngs)
        self.w_e = Linear(hidden, proj, bias=True, rngs=rngs)
        self.log_tau = nnx.Param(jnp.zeros((), jnp.float32))
        self.log_tau_span = nnx.Param(jnp.zeros((), jnp.float32))
        self.readout = config.readout
        judges = config.readout is not MarkerReadout.COSINE
        self.mlp_inner = Linear(hidden, 2 * hidden, bias=True, rngs=rngs) if judges else None
        self.mlp_outer = Linear(2 * hidden, 1, bias=True, rngs=rngs) if judges else None

    def options(
        self,
        hidden: Float[jax.Array, "B S D"],
        segment: Int32[jax.Array, "B S"],
        pool: Int32[jax.Array, "B S"],
        query: Int32[jax.Array, "B S"],
    ) -> Float[jax.Array, "B S"]:
        """The logit of every token as an option of the question marked at `query`, over the range `pool`."""
        if self.readout is MarkerReadout.MLP:
            return self._own(hidden)
        cosine = self._cosine(hidden, segment, pool, query)
        return cosine if self.readout is MarkerReadout.COSINE else cosine + self._own(hidden)

    def labels(self, hidden: Float[jax.Array, "B S D"], places: Int32[jax.Array, "B E"]) -> Float[jax.Array, "B S E"]:
        """The logit of every token against the labels marked at `places`."""
        normed = self.norm(hidden)
        words = _unit(self.w_t(normed))
        labels = _unit(_at(self.w_e(normed), places))
        return _dots(words, labels) / jnp.exp(self.log_tau_span[...])

    def _cosine(self, hidden: jax.Array, segment: jax.Array, pool: jax.Array, query: jax.Array) -> jax.Array:
        normed = self.norm(hidden)
        options = _unit(self.w_o(normed) + _at(self.w_q(normed), query))
        means = self.norm(pool_ranges(hidden, segment))
        # Flat, so that the few ranges of a row are multiplied by one code whatever the number of rows.
        pooled = _unit(self.w_p(means.reshape(-1, means.shape[-1])).reshape(*means.shape[:2], -1))  # [B R P]
        ranges = jax.nn.one_hot(pool, len(POOLS), dtype=jnp.bool_)
        cosines = jnp.sum(jnp.where(ranges, _dots(options, pooled), 0.0), axis=-1)
        return cosines / jnp.exp(self.log_tau[...])

    def _own(self, hidden: jax.Array) -> jax.Array:
        assert self.mlp_inner is not None
        assert self.mlp_outer is not None
        return self.mlp_outer(jax.nn.relu(self.mlp_inner(hidden)))[:, :, 0]


def pool_ranges(hidden: Float[jax.Array, "B S D"], segment: Int32[jax.Array, "B S"]) -> Float[jax.Array, "B R D"]:
    """The mean of the tokens of each range of segments; of an empty one, zero."""
    sums = [jnp.sum(jnp.where((segment == each)[:, :, None], hidden, 0.0), axis=1) for each in range(1, SEGMENTS + 1)]
    counts = [jnp.sum(segment == each, axis=1, dtype=jnp.int32) for each in range(1, SEGMENTS + 1)]
    means = []
    for first, last in POOLS:
        total = sum(sums[first:last], sums[first - 1])
        count = sum(counts[first:last], counts[first - 1])
        means.append(total / jnp.maximum(count, 1).astype(jnp.float32)[:, None])
    return jnp.stack(means, axis=1)


def _at(vectors: jax.Array, places: jax.Array) -> jax.Array:
    """The vectors [B K P] of the tokens at `places` [B K]."""
    return jnp.take_along_axis(vectors, places[:, :, None], axis=1, mode="clip")


def _unit(vectors: jax.Array) -> jax.Array:
    length = jnp.sqrt(jnp.sum(jnp.square(vectors), axis=-1, keepdims=True))
    return vectors / jnp.maximum(length, _LEAST_NORM)


def _dots(left: jax.Array, right: jax.Array) -> jax.Array:
    """Products [B T K] of vectors [B T P] with vectors [B K P] of the same row, in full FP32."""
    dots: jax.Array = jax.lax.dot_general(
        left, right, (((2,), (2,)), ((0,), (0,))), precision=jax.lax.Precision.HIGHEST
    )
    return dots
