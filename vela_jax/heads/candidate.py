"""The candidate head of decoders: the logit of each option of a question (Vela 2.0 format, section 7.7)."""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.layers.activations import gelu
from vela_jax.layers.linear import Linear
from vela_jax.layers.norms import LayerNorm

NORM_EPS: Final = 1e-5


class CandidateHead(nnx.Module):
    """(K c . Q q) / sqrt(C) + scalar . GELU(Wc c + b + Wq q), c an option's normed state and q the question's."""

    def __init__(self, hidden_size: int, head_dim: int, *, rngs: nnx.Rngs) -> None:
        self.candidate_norm = LayerNorm(hidden_size, eps=NORM_EPS, bias=True)
        self.query_norm = LayerNorm(hidden_size, eps=NORM_EPS, bias=True)
        self.key = Linear(hidden_size, head_dim, bias=False, rngs=rngs)
        self.query = Linear(hidden_size, head_dim, bias=False, rngs=rngs)
        self.candidate_mlp = Linear(hidden_size, head_dim, bias=True, rngs=rngs)
        self.query_mlp = Linear(hidden_size, head_dim, bias=False, rngs=rngs)
        self.scalar = Linear(head_dim, 1, bias=False, rngs=rngs)
        self.scale = head_dim**-0.5

    def __call__(self, hidden: Float[jax.Array, "B S D"], lengths: Int32[jax.Array, " B"]) -> Float[jax.Array, "B S"]:
        """The logit of every token as the end of an option of the question that ends its row.

        For the sake of bits every token is read as a question too, as a compiler has other code for the vector of a
        lone row, and queries are scaled, as a product beside the last sum is or is not rounded by itself.
        """
        candidates, questions = self.candidate_norm(hidden), self.query_norm(hidden)
        query, judge = (_last(each(questions), lengths) for each in (self.query, self.query_mlp))
        likeness = jnp.sum(self.key(candidates) * (query * self.scale), axis=-1)
        judged = gelu(self.candidate_mlp(candidates) + judge)
        logits: jax.Array = likeness + self.scalar(judged)[:, :, 0]
        return logits


def _last(vectors: Float[jax.Array, "B S C"], lengths: Int32[jax.Array, " B"]) -> Float[jax.Array, "B 1 C"]:
    """The vector of each row's last token."""
    return jnp.take_along_axis(vectors, jnp.maximum(lengths - 1, 0)[:, None, None], axis=1)
