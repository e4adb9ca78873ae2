"""Normalisation over the last axis, in FP32."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxtyping import Float


class LayerNorm(nnx.Module):
    """(x - mean) / sqrt(variance + eps) * weight (+ bias)."""

    def __init__(self, features: int, *, eps: float, bias: bool) -> None:
        self.weight = nnx.Param(jnp.ones((features,), jnp.float32))
        self.bias = nnx.Param(jnp.zeros((features,), jnp.float32)) if bias else None
        self.eps = eps

    def __call__(self, x: Float[jax.Array, "*tokens D"]) -> Float[jax.Array, "*tokens D"]:
        """Normalize each vector by itself."""
        tokens = x.reshape(-1, x.shape[-1])
        centered = tokens - jnp.mean(tokens, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(centered), axis=-1, keepdims=True)
        y = centered * lax.rsqrt(variance + self.eps) * self.weight[...][None, :]
        if self.bias is not None:
            y = y + self.bias[...][None, :]
        return y.reshape(x.shape)


class RMSNorm(nnx.Module):
    """x / sqrt(mean of squares + eps) * weight."""

    def __init__(self, features: int, *, eps: float) -> None:
        self.weight = nnx.Param(jnp.ones((features,), jnp.float32))
        self.eps = eps

    def __call__(self, x: Float[jax.Array, "*tokens D"]) -> Float[jax.Array, "*tokens D"]:
        """Normalize each vector by itself."""
        tokens = x.reshape(-1, x.shape[-1])
        power = jnp.mean(jnp.square(tokens), axis=-1, keepdims=True)
        return (self.weight[...][None, :] * (tokens * lax.rsqrt(power + self.eps))).reshape(x.shape)
