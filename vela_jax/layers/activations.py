"""The activation functions that packages may name (Vela 1.0 format, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import jax
import jax.numpy as jnp

Activation = Callable[[jax.Array], jax.Array]

_SQRT_HALF: Final = 0.7071067811865476


def gelu(x: jax.Array) -> jax.Array:
    """Exact GELU. Written with erf: the complementary form of `jax.nn.gelu` is slower on CPUs."""
    return 0.5 * x * (1.0 + jax.lax.erf(x * _SQRT_HALF))


def gelu_tanh(x: jax.Array) -> jax.Array:
    """GELU by its tanh approximation."""
    return jax.nn.gelu(x, approximate=True)


def relu(x: jax.Array) -> jax.Array:
    """max(x, 0)."""
    return jnp.maximum(x, 0.0)


def silu(x: jax.Array) -> jax.Array:
    """x times its sigmoid."""
    return x * jax.lax.logistic(x)


ACTIVATIONS: Final[Mapping[str, Activation]] = MappingProxyType(
    {"gelu": gelu, "gelu_pytorch_tanh": gelu_tanh, "relu": relu, "silu": silu}
)
