"""The span head of decoders: logits of words against labels (Vela 2.0 format, section 7.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax
from jaxtyping import Float, Int32

from vela_jax.heads.candidate import NORM_EPS
from vela_jax.layers.activations import gelu
from vela_jax.layers.linear import Embedding, Linear
from vela_jax.layers.norms import LayerNorm

_LABEL_BLOCK: Final = 64
"""Labels are multiplied in blocks of so many: a CPU's code for a product follows from such multiples."""


@dataclass(frozen=True, slots=True)
class SpanConfig:
    """Width of the head, and the places that it knows labels by."""

    d: int
    slots: int


class SpanHead(nnx.Module):
    """(K w . Q l) / sqrt(d) + v . GELU(M w + b + N l), w a word's and l a label's centred state.

    Attributes are named as in the checkpoint; `o` is stored there and read by nothing.
    """

    def __init__(self, hidden_size: int, config: SpanConfig, *, rngs: nnx.Rngs) -> None:
        self.wn = LayerNorm(hidden_size, eps=NORM_EPS, bias=True)
        self.ln = LayerNorm(hidden_size, eps=NORM_EPS, bias=True)
        self.slot = Embedding(config.slots, hidden_size, rngs=rngs)
        self.K = Linear(hidden_size, config.d, bias=False, rngs=rngs)
        self.Q = Linear(hidden_size, config.d, bias=False, rngs=rngs)
        self.M = Linear(hidden_size, config.d, bias=True, rngs=rngs)
        self.N = Linear(hidden_size, config.d, bias=False, rngs=rngs)
        self.v = Linear(config.d, 1, bias=False, rngs=rngs)
        self.o = Linear(hidden_size, 1, bias=True, rngs=rngs)
        self.config = config

    def __call__(
        self,
        hidden: Float[jax.Array, "B S D"],
        words: Int32[jax.Array, "B S"],
        labels: Int32[jax.Array, "B S"],
        most: int,
    ) -> Float[jax.Array, "B S C"]:
        """Logits of every token against up to C = `most` labels.

        `words` is the number of words that begin with a token; `labels` is n at the tokens of the n-th label, counted
        from 1. Columns beyond a row's labels are 0. The work grows with the labels that there are.
        """
        rows, width, _ = hidden.shape
        room = -(-most // _LABEL_BLOCK) * _LABEL_BLOCK
        normed = self.wn(hidden)
        # Centred behind the products: what goes into them must not be rounded by the number of rows.
        keys, judged = (_centred(each(normed), words) for each in (self.K, self.M))
        assert self.M.bias is not None
        judged = judged + self.M.bias[...][None, None, :]
        counts = jnp.max(labels, axis=1)
        several = jnp.max(counts)
        means = self._labels(hidden, labels, several, room)
        present = (jnp.arange(room, dtype=jnp.int32)[None, :] < counts[:, None]).astype(jnp.int32)
        queries, shifts = (self._placed(each, means, present) for each in (self.Q, self.N))

        def label(index: jax.Array, scores: jax.Array) -> jax.Array:
            query, shift = (lax.dynamic_index_in_dim(each, index, axis=1) for each in (queries, shifts))
            likeness = jnp.sum(keys * query, axis=-1) * self.config.d**-0.5
            score = likeness + self.v(gelu(judged + shift))[:, :, 0]
            written: jax.Array = lax.dynamic_update_index_in_dim(scores, score, index, axis=0)
            return written

        scores: jax.Array = lax.fori_loop(0, several, label, jnp.zeros((most, rows, width), jnp.float32))
        real = jnp.arange(most, dtype=jnp.int32)[None, None, :] < counts[:, None, None]
        return jnp.where(real, scores.transpose(1, 2, 0), 0.0)

    def _labels(self, hidden: jax.Array, labels: jax.Array, several: jax.Array, room: int) -> jax.Array:
        """Normed means [B C D] of the tokens of each label."""

        def label(index: jax.Array, means: jax.Array) -> jax.Array:
            mean = _mean(hidden, (labels == index + 1).astype(jnp.int32))
            written: jax.Array = lax.dynamic_update_index_in_dim(means, mean, index, axis=1)
            return written

        empty = jnp.zeros((hidden.shape[0], room, hidden.shape[2]), jnp.float32)
        return self.ln(lax.fori_loop(0, several, label, empty))

    def _placed(self, linear: Linear, means: jax.Array, present: jax.Array) -> jax.Array:
        """The product of labels told apart by their places, centred where there are two."""
        rows, room, features = means.shape
        places = np.minimum(np.arange(room, dtype=np.int32), self.config.slots - 1)
        of_places = linear(self.slot.weight[...])[places]
        states = linear(means.reshape(rows * room, features)).reshape(rows, room, -1) + of_places[None]
        several = jnp.sum(present, axis=1)[:, None, None] >= 2
        return jnp.where(several, _centred(states, present), states)


def _centred(vectors: jax.Array, times: jax.Array) -> jax.Array:
    return vectors - _mean(vectors, times)[:, None, :]


def _mean(vectors: jax.Array, times: jax.Array) -> jax.Array:
    """The mean [B D] of the vectors [B S D], each counted so many times [B S]; of none, zero."""
    counted = times[:, :, None]
    total = jnp.sum(jnp.where(counted > 0, vectors * counted.astype(jnp.float32), 0.0), axis=1)
    return total / jnp.maximum(jnp.sum(times, axis=1), 1).astype(jnp.float32)[:, None]
