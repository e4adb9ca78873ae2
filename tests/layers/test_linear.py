"""Dense products: values, shapes, and bits that do not depend on the row count."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from vela_jax.forward.buckets import count_ladder
from vela_jax.layers.compiler import compiler_options
from vela_jax.layers.linear import Embedding, Linear, product, token_product


def random(*shape: int, seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("leading", [(1,), (5,), (2, 3), (1, 1)])
def test_values(leading: tuple[int, ...], bias: bool) -> None:
    layer = Linear(7, 4, bias=bias, rngs=nnx.Rngs(0))
    if layer.bias is not None:
        layer.bias[...] = random(4, seed=1)
    x = random(*leading, 7)
    expected = np.asarray(x, np.float64) @ np.asarray(layer.weight[...], np.float64).T
    if layer.bias is not None:
        expected = expected + np.asarray(layer.bias[...], np.float64)
    y = layer(x)
    assert y.dtype == jnp.float32
    np.testing.assert_allclose(np.asarray(y), expected, rtol=0, atol=1e-6)


def test_the_bias_is_a_parameter_only_when_asked_for() -> None:
    assert Linear(2, 3, bias=False, rngs=nnx.Rngs(0)).bias is None
    assert set(nnx.state(Linear(2, 3, bias=True, rngs=nnx.Rngs(0)))) == {"weight", "bias"}


@pytest.mark.parametrize(("features", "outputs"), [(72, 1), (64, 2), (768, 35), (1152, 768)])
def test_a_row_has_the_same_bits_for_every_row_count(features: int, outputs: int) -> None:
    x, weight = random(64, features), random(outputs, features, seed=1)
    apply = jax.jit(product, compiler_options=compiler_options("cpu"))
    alone = np.asarray(apply(x[:1], weight))[0]
    for count in (2, 8, 64):
        np.testing.assert_array_equal(np.asarray(apply(x[:count], weight))[0], alone, strict=True)


@pytest.mark.parametrize("length", [16, 48, 64, 96, 512, 576])
@pytest.mark.parametrize("outputs", [35, 768])
def test_a_row_of_tokens_has_the_same_bits_in_the_counts_of_its_ladder(outputs: int, length: int) -> None:
    counts = count_ladder(length, max(1024, 2 * length)).sizes
    x, weight = random(counts[-1], length, 384), random(outputs, 384, seed=1)
    apply = jax.jit(token_product, compiler_options=compiler_options("cpu"))
    alone = np.asarray(apply(x[:1], weight))
    for count in counts[1:]:
        np.testing.assert_array_equal(np.asarray(apply(x[:count], weight))[:length], alone, strict=True)


@pytest.mark.parametrize("length", [1, 16, 64, 513])
def test_tokens_have_the_values_of_rows(length: int) -> None:
    x, weight = random(2, length, 96), random(128, 96, seed=1)
    rows = np.asarray(product(x.reshape(-1, 96), weight))
    np.testing.assert_allclose(np.asarray(token_product(x, weight)), rows, rtol=1e-6, atol=1e-5)


def test_embedding_reads_rows_and_shows_a_wrong_id() -> None:
    table = Embedding(5, 3, rngs=nnx.Rngs(0))
    rows = np.asarray(table(jnp.asarray([[0, 4, 9]], jnp.int32)))[0]
    np.testing.assert_array_equal(rows[:2], np.asarray(table.weight[...])[[0, 4]])
    assert np.isnan(rows[2]).all()


@pytest.mark.parametrize("outputs", [1, 4, 64])
@pytest.mark.parametrize("leading", [(1,), (2, 3)])
def test_of_bf16_kernels_only_the_factors_are_rounded(leading: tuple[int, ...], outputs: int) -> None:
    layer = Linear(300, outputs, bias=True, rngs=nnx.Rngs(0))
    layer.weight = nnx.Param(layer.weight[...].astype(jnp.bfloat16))
    x = random(*leading, 300)
    factors = x if outputs == 1 else x.astype(jnp.bfloat16)  # a lone output is multiplied and summed in FP32
    expected = np.asarray(factors, np.float64) @ np.asarray(layer.weight[...], np.float64).T
    y = layer(x)
    assert y.dtype == jnp.float32
    np.testing.assert_allclose(np.asarray(y), expected, rtol=0, atol=1e-5)


def test_vectors_of_a_bf16_table_are_fp32() -> None:
    table = Embedding(5, 3, rngs=nnx.Rngs(0))
    table.weight = nnx.Param(table.weight[...].astype(jnp.bfloat16))
    vectors = table(jnp.array([[4, 9]], jnp.int32))
    assert vectors.dtype == jnp.float32
    np.testing.assert_array_equal(np.asarray(vectors[0, 0]), np.asarray(table.weight[...][4], np.float32))
    assert np.isnan(np.asarray(vectors[0, 1])).all()
