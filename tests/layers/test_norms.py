"""Norms against the reference's and against their formulas in FP64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

from vela_jax.layers.norms import LayerNorm, RMSNorm


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(1, 8), (2, 3, 8), (4, 768)])
def test_layer_norm(shape: tuple[int, ...], bias: bool) -> None:
    x, width = random(*shape) * 3 + 1, shape[-1]
    ours = LayerNorm(width, eps=1e-5, bias=bias)
    theirs = torch.nn.LayerNorm(width, eps=1e-5, bias=bias)
    ours.weight[...] = jnp.asarray(random(width, seed=1))
    theirs.weight.data = torch.from_numpy(random(width, seed=1))
    if ours.bias is not None:
        ours.bias[...] = jnp.asarray(random(width, seed=2))
        theirs.bias.data = torch.from_numpy(random(width, seed=2))
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(np.asarray(ours(jnp.asarray(x))), expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize("shape", [(1, 8), (2, 3, 4, 128)])
def test_rms_norm(shape: tuple[int, ...]) -> None:
    x, width = random(*shape), shape[-1]
    ours, theirs = RMSNorm(width, eps=1e-6), Qwen3RMSNorm(width, eps=1e-6)
    ours.weight[...] = jnp.asarray(random(width, seed=1))
    theirs.weight.data = torch.from_numpy(random(width, seed=1))
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(np.asarray(ours(jnp.asarray(x))), expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize("norm", [LayerNorm(4, eps=1e-5, bias=True), RMSNorm(4, eps=1e-6)])
def test_a_vector_of_zeros_stays_finite(norm: LayerNorm | RMSNorm) -> None:
    assert np.array_equal(np.asarray(jax.jit(norm)(jnp.zeros((2, 4), jnp.float32))), np.zeros((2, 4)))


def test_the_variance_of_a_shifted_vector_keeps_its_digits() -> None:
    x = random(1, 64) + 1000
    exact = x.astype(np.float64)
    exact = (exact - exact.mean()) / np.sqrt(exact.var() + 1e-5)
    np.testing.assert_allclose(np.asarray(LayerNorm(64, eps=1e-5, bias=False)(jnp.asarray(x))), exact, atol=1e-3)
