"""The short causal convolution of a channel with itself, and what a continuation needs of it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.layers.linear import normal_param


class ShortConvolution(nnx.Module):
    """y_t = sum over w of weight[:, w] * x_(t - W + 1 + w), each channel by itself.

    The weight is stored [C 1 W]. Of a text that is continued, R = W - 1 inputs are remembered.
    """

    def __init__(self, channels: int, width: int, *, rngs: nnx.Rngs) -> None:
        self.weight = normal_param(rngs, (channels, 1, width))
        self.width = width

    def __call__(self, x: Float[jax.Array, "B T C"], before: Float[jax.Array, "B R C"]) -> Float[jax.Array, "B T C"]:
        """Convolve tokens that follow the inputs `before`; zeros stand for none."""
        length = x.shape[1]
        extended = jnp.concatenate([before, x], axis=1)
        kernel = self.weight[...][:, 0, :]
        y = jnp.zeros_like(x)
        for place in range(self.width):
            y = y + extended[:, place : place + length] * kernel[None, None, :, place]
        return y

    def nothing(self, x: Float[jax.Array, "B T C"]) -> Float[jax.Array, "B R C"]:
        """The inputs before a text that follows nothing."""
        return jnp.zeros((x.shape[0], self.width - 1, x.shape[2]), x.dtype)

    def tail(
        self, x: Float[jax.Array, "B T C"], before: Float[jax.Array, "B R C"], lengths: Int32[jax.Array, " B"]
    ) -> Float[jax.Array, "B R C"]:
        """The last inputs of rows that end after `lengths` tokens, whatever stands behind them."""
        extended = jnp.concatenate([before, x], axis=1)
        places = lengths[:, None] + jnp.arange(self.width - 1, dtype=jnp.int32)[None, :]
        return jnp.take_along_axis(extended, places[:, :, None], axis=1, mode="clip")
