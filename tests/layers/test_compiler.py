"""Compiler options: accepted by the compiler, and empty where nothing is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vela_jax.layers.compiler import compiler_options


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_other_platforms_have_none(platform: str) -> None:
    assert compiler_options(platform) == {}


@pytest.mark.parametrize("features", [64, 768])
def test_sums_have_the_same_bits_for_every_row_count(features: int) -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((4096, features)), jnp.float32)

    def normalized(x: jax.Array) -> jax.Array:
        return x / jnp.sum(jnp.exp(x), axis=-1, keepdims=True)

    apply = jax.jit(normalized, compiler_options=compiler_options("cpu"))
    alone = np.asarray(apply(x[:1]))[0]
    for count in (2, 16, 64, 512, 4096):
        np.testing.assert_array_equal(np.asarray(apply(x[:count]))[0], alone)
