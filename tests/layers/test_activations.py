"""Activations against the reference's."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from transformers.activations import ACT2FN

from vela_jax.layers.activations import ACTIVATIONS


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_equals_the_reference(name: str) -> None:
    x = np.linspace(-12, 12, 4001, dtype=np.float32)
    expected = ACT2FN[name](torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(np.asarray(ACTIVATIONS[name](jnp.asarray(x))), expected, rtol=0, atol=1e-6)


def test_names_are_those_of_the_format() -> None:
    assert set(ACTIVATIONS) == {"gelu", "gelu_pytorch_tanh", "relu", "silu"}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_stays_finite_far_out(name: str) -> None:
    x = jnp.asarray([-1e30, -100.0, 0.0, 100.0, 1e30], jnp.float32)
    assert np.isfinite(np.asarray(ACTIVATIONS[name](x))).all()


def test_gelu_is_the_exact_form() -> None:
    x = torch.linspace(-4, 4, 1001, dtype=torch.float64)
    exact = torch.nn.functional.gelu(x).numpy()
    ours = np.asarray(ACTIVATIONS["gelu"](jnp.asarray(x.numpy(), jnp.float32)), np.float64)
    tanh = np.asarray(ACTIVATIONS["gelu_pytorch_tanh"](jnp.asarray(x.numpy(), jnp.float32)), np.float64)
    assert np.abs(ours - exact).max() < 5e-7
    assert np.abs(tanh - exact).max() > 1e-4
