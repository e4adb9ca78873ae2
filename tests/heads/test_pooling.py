"""Pooling: which tokens count, FP32 sums of long rows, empty rows, and bits for every row count."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vela_jax.heads.pooling import Pooling, pool
from vela_jax.layers.compiler import compiler_options

HIDDEN = jnp.asarray(np.random.default_rng(0).standard_normal((3, 6, 4)), jnp.float32)
LENGTHS = jnp.asarray([6, 3, 1], jnp.int32)


@pytest.mark.parametrize("pooling", list(Pooling))
def test_values(pooling: Pooling) -> None:
    pooled = np.asarray(pool(HIDDEN, LENGTHS, pooling))
    for row, length in enumerate([6, 3, 1]):
        tokens = np.asarray(HIDDEN)[row, :length]
        expected = {"cls": tokens[0], "mean": tokens.mean(axis=0), "last_token": tokens[-1]}[pooling]
        np.testing.assert_allclose(pooled[row], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("pooling", list(Pooling))
def test_padding_never_counts_even_when_it_is_not_a_number(pooling: Pooling) -> None:
    spoiled = HIDDEN.at[1, 3:].set(jnp.nan)
    np.testing.assert_array_equal(pool(spoiled, LENGTHS, pooling), pool(HIDDEN, LENGTHS, pooling))


@pytest.mark.parametrize("pooling", list(Pooling))
def test_an_empty_row_is_finite(pooling: Pooling) -> None:
    assert np.isfinite(np.asarray(pool(HIDDEN, jnp.asarray([0, 6, 0], jnp.int32), pooling))).all()


def test_the_mean_of_a_long_row_keeps_its_digits() -> None:
    rng = np.random.default_rng(1)
    hidden = (rng.standard_normal((1, 8192, 64)) + 0.5).astype(np.float32)
    pooled = np.asarray(pool(jnp.asarray(hidden), jnp.asarray([8000], jnp.int32), Pooling.MEAN), np.float64)
    exact = hidden[:, :8000].astype(np.float64).mean(axis=1)
    np.testing.assert_allclose(pooled, exact, rtol=0, atol=1e-6)
    cosine = (pooled * exact).sum() / np.linalg.norm(pooled) / np.linalg.norm(exact)
    assert cosine > 0.9999999


@pytest.mark.parametrize("pooling", list(Pooling))
@pytest.mark.parametrize(("width", "features"), [(16, 64), (32, 768), (512, 64)])
def test_a_row_has_the_same_bits_for_every_row_count(pooling: Pooling, width: int, features: int) -> None:
    hidden = jnp.asarray(np.random.default_rng(2).standard_normal((8, width, features)), jnp.float32)
    lengths = jnp.full((8,), width - 3, jnp.int32)
    apply = jax.jit(pool, static_argnums=2, compiler_options=compiler_options("cpu"))
    alone = np.asarray(apply(hidden[:1], lengths[:1], pooling))[0]
    for count in (2, 8):
        np.testing.assert_array_equal(np.asarray(apply(hidden[:count], lengths[:count], pooling))[0], alone)
