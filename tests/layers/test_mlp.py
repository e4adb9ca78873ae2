"""Per-token networks against their formulas."""

import jax.numpy as jnp
import numpy as np
from flax import nnx

from vela_jax.layers.activations import ACTIVATIONS
from vela_jax.layers.linear import Linear
from vela_jax.layers.mlp import GatedMlp, PlainMlp, SwiGlu

X = jnp.asarray(np.random.default_rng(0).standard_normal((2, 3, 8)), jnp.float32)


def dense(layer: Linear, x: np.ndarray) -> np.ndarray:
    y = np.asarray(x, np.float64) @ np.asarray(layer.weight[...], np.float64).T
    return y if layer.bias is None else y + np.asarray(layer.bias[...], np.float64)


def activated(name: str, x: np.ndarray) -> np.ndarray:
    return np.asarray(ACTIVATIONS[name](jnp.asarray(x, jnp.float32)), np.float64)


def test_gated_activates_the_first_half_and_multiplies_by_the_second() -> None:
    mlp = GatedMlp(8, 5, activation="gelu", bias=True, rngs=nnx.Rngs(0))
    u = dense(mlp.Wi, np.asarray(X))
    expected = dense(mlp.Wo, activated("gelu", u[..., :5]) * u[..., 5:])
    np.testing.assert_allclose(np.asarray(mlp(X)), expected, rtol=0, atol=1e-7)


def test_plain() -> None:
    mlp = PlainMlp(8, 5, activation="relu", rngs=nnx.Rngs(0))
    expected = dense(mlp.output, activated("relu", dense(mlp.intermediate, np.asarray(X))))
    np.testing.assert_allclose(np.asarray(mlp(X)), expected, rtol=0, atol=1e-7)


def test_swiglu_activates_the_gate() -> None:
    mlp = SwiGlu(8, 5, rngs=nnx.Rngs(0))
    gate, up = dense(mlp.gate_proj, np.asarray(X)), dense(mlp.up_proj, np.asarray(X))
    np.testing.assert_allclose(np.asarray(mlp(X)), dense(mlp.down_proj, activated("silu", gate) * up), atol=1e-7)
