"""Dense products: kernels as checkpoints store them, tokens flattened, so that bits depend least on the row count.

Kernels and tables may be BF16: tokens are then rounded to BF16 for the product, and sums and results stay FP32.
"""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Float, Int32

SHORT_ROW: Final = 192
"""Tokens of a row up to which a CPU is quicker with the kernel as the left factor."""

_TILE: Final = 64  # outputs that a CPU's widest code computes side by side
_INIT_STDDEV = 0.02  # of random networks, in tests and benchmarks


def normal_param(rngs: nnx.Rngs, shape: tuple[int, ...], dtype: DTypeLike = jnp.float32) -> nnx.Param[jax.Array]:
    """A random parameter."""
    return nnx.Param(jax.random.normal(rngs.params(), shape, dtype) * _INIT_STDDEV)


def product(x: Float[jax.Array, "M D"], weight: Float[jax.Array, "F D"]) -> Float[jax.Array, "M F"]:
    """x times the transposed weight, in full FP32 on every device; of a BF16 weight, BF16 products summed in FP32.

    A lone row is computed beside a row of zeros: a matrix-vector product sums in another order than a
    matrix product, and the row would get other bits than in a batch. The barrier keeps the compiler from
    seeing that one of the two rows is never read. A lone output is multiplied and summed for the same reason.
    """
    if weight.shape[0] == 1:
        return jnp.sum(x * weight.astype(x.dtype), axis=-1, keepdims=True)
    if x.shape[0] == 1:
        both = lax.optimization_barrier(jnp.concatenate([x, jnp.zeros_like(x)]))
        lone: jax.Array = lax.optimization_barrier(product(both, weight))[:1]
        return lone
    return _dot(x.astype(weight.dtype), weight)


def token_product(x: Float[jax.Array, "B S D"], weight: Float[jax.Array, "F D"]) -> Float[jax.Array, "M F"]:
    """`product` for all tokens of rows of one length, M = B S.

    A CPU rearranges the right factor before it multiplies. With few tokens that costs as much as the product itself
    when the kernel is that factor, so there the tokens are. The compiler then picks its code by the number of tokens:
    multiples of 64, of 32, or others, each with bits of its own (`count_ladder` keeps to one of them). The choice
    follows from the length of a row, never from the number of rows. A kernel whose outputs are no multiple of 64 is
    small and stays on the right.
    """
    tokens = x.reshape(-1, x.shape[-1])
    if x.shape[1] <= SHORT_ROW and weight.shape[0] % _TILE == 0:
        y: jax.Array = lax.platform_dependent(tokens, weight, cpu=_kernel_first, default=product)
        return y
    return product(tokens, weight)


def _kernel_first(x: jax.Array, weight: jax.Array) -> jax.Array:
    """(W x^T)^T; the barrier keeps the compiler from exchanging the factors again."""
    transposed: jax.Array = lax.optimization_barrier(_dot(weight, x.astype(weight.dtype)))
    return transposed.T


def _dot(a: jax.Array, b: jax.Array) -> jax.Array:
    """Products over the last axes, in FP32."""
    dimensions = (((1,), (1,)), ((), ()))
    return lax.dot_general(a, b, dimensions, precision=lax.Precision.HIGHEST, preferred_element_type=jnp.float32)


class Linear(nnx.Module):
    """y = x W^T (+ b) over the last axis, W stored [F D]."""

    def __init__(self, in_features: int, out_features: int, *, bias: bool, rngs: nnx.Rngs) -> None:
        self.weight = normal_param(rngs, (out_features, in_features))
        self.bias = nnx.Param(jnp.zeros((out_features,), jnp.float32)) if bias else None

    def __call__(self, x: Float[jax.Array, "*tokens D"]) -> Float[jax.Array, "*tokens F"]:
        """Any leading axes; they are flattened for the product. [B S D] is rows of tokens."""
        weight = self.weight[...]
        y = token_product(x, weight) if x.ndim == 3 else product(x.reshape(-1, x.shape[-1]), weight)
        if self.bias is not None:
            y = y + self.bias[...][None, :]
        return y.reshape(*x.shape[:-1], -1)


class Embedding(nnx.Module):
    """A table of vectors, read by id."""

    def __init__(self, rows: int, features: int, *, rngs: nnx.Rngs) -> None:
        self.weight = normal_param(rngs, (rows, features))

    def __call__(self, ids: Int32[jax.Array, "B S"]) -> Float[jax.Array, "B S D"]:
        """The vectors of ids; an id beyond the table reads as NaN, so that a wrong id is seen and never answered."""
        vectors = jnp.take(self.weight[...], ids, axis=0, mode="fill", fill_value=jnp.nan)
        return vectors.astype(jnp.float32)
