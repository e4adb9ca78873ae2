"""Relevance scorers of a reranker: one small network an exit, on the first channels of the CLS row.

(Vela 1.0 format, section 13.1.)
"""

from __future__ import annotations

from collections.abc import Iterable

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float

from vela_jax.layers.activations import gelu
from vela_jax.layers.linear import Linear, normal_param, product


class Score(nnx.Module):
    """One number of a vector: w . x + b, the weight stored as the vector w."""

    def __init__(self, features: int, *, rngs: nnx.Rngs) -> None:
        self.weight = normal_param(rngs, (features,))
        self.bias = nnx.Param(jnp.zeros((1,), jnp.float32))

    def __call__(self, x: Float[jax.Array, "B F"]) -> Float[jax.Array, " B"]:
        """The number of each row."""
        return product(x, self.weight[...][None, :])[:, 0] + self.bias[...]


class RelevanceScorer(nnx.Module):
    """output(gelu(hidden(x))) on the first `dimension` channels."""

    def __init__(self, dimension: int, *, rngs: nnx.Rngs) -> None:
        self.hidden = Linear(dimension, dimension // 2, bias=True, rngs=rngs)
        self.output = Score(dimension // 2, rngs=rngs)
        self.dimension = dimension

    def __call__(self, rows: Float[jax.Array, "B D"]) -> Float[jax.Array, " B"]:
        """Logits of final-normed CLS rows."""
        return self.output(gelu(self.hidden(rows[:, : self.dimension])))


class RelevanceScorers(nnx.Module):
    """The scorers of a reranker by exit, (layer, dimension)."""

    def __init__(self, exits: Iterable[tuple[int, int]], *, rngs: nnx.Rngs) -> None:
        self.by_exit = nnx.Dict(
            {f"{layer}.{dimension}": RelevanceScorer(dimension, rngs=rngs) for layer, dimension in exits}
        )

    def __call__(self, rows: Float[jax.Array, "B D"], layer: int, dimension: int) -> Float[jax.Array, " B"]:
        """Logits of the final-normed CLS rows at exit `layer`, by its scorer for `dimension` channels."""
        scorer: RelevanceScorer = self.by_exit[f"{layer}.{dimension}"]
        return scorer(rows)
