"""Relevance scorers: values, which channels they read, and bits for every row count."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from vela_jax.heads.relevance import RelevanceScorer, RelevanceScorers
from vela_jax.layers.compiler import compiler_options

ROWS = jnp.asarray(np.random.default_rng(0).standard_normal((32, 768)), jnp.float32)


def scorer_pair(dimension: int) -> tuple[RelevanceScorer, torch.nn.Sequential]:
    torch.manual_seed(dimension)
    half = dimension // 2
    theirs = torch.nn.Sequential(
        torch.nn.Linear(dimension, half), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(half, 1)
    ).eval()
    ours = RelevanceScorer(dimension, rngs=nnx.Rngs(0))
    tensors = {key: jnp.asarray(value.numpy()) for key, value in theirs.state_dict().items()}
    ours.hidden.weight[...] = tensors["0.weight"]
    assert ours.hidden.bias is not None
    ours.hidden.bias[...] = tensors["0.bias"]
    ours.output.weight[...] = tensors["3.weight"][0]
    ours.output.bias[...] = tensors["3.bias"]
    return ours, theirs


@pytest.mark.parametrize("dimension", [768, 64, 2])
def test_logits(dimension: int) -> None:
    ours, theirs = scorer_pair(dimension)
    with torch.inference_mode():
        expected = theirs(torch.from_numpy(np.asarray(ROWS)[:, :dimension].copy()))[:, 0].numpy()
    np.testing.assert_allclose(np.asarray(ours(ROWS)), expected, rtol=0, atol=1e-6)


def test_channels_beyond_the_dimension_are_not_read() -> None:
    ours, _ = scorer_pair(64)
    np.testing.assert_array_equal(ours(ROWS.at[:, 64:].set(jnp.nan)), ours(ROWS))


@pytest.mark.parametrize("dimension", [64, 128, 256, 512, 768])
def test_a_row_has_the_same_bits_for_every_row_count(dimension: int) -> None:
    ours, _ = scorer_pair(dimension)
    graph, state = nnx.split(ours)
    apply = jax.jit(lambda state, x: nnx.merge(graph, state)(x), compiler_options=compiler_options("cpu"))
    alone = np.asarray(apply(state, ROWS[:1]))[0]
    for count in (2, 4, 8, 16, 32):
        np.testing.assert_array_equal(np.asarray(apply(state, ROWS[:count]))[0], alone)


def test_each_exit_has_its_own_scorer() -> None:
    scorers = RelevanceScorers([(4, 64), (4, 32), (2, 64)], rngs=nnx.Rngs(0))
    assert sorted(scorers.by_exit) == ["2.64", "4.32", "4.64"]
    expected = scorers.by_exit["2.64"](ROWS)
    np.testing.assert_array_equal(scorers(ROWS, 2, 64), expected)
    assert np.abs(np.asarray(scorers(ROWS, 4, 64)) - np.asarray(expected)).max() > 0


def test_an_exit_without_scorer_is_refused() -> None:
    with pytest.raises(KeyError):
        RelevanceScorers([(4, 64)], rngs=nnx.Rngs(0))(ROWS, 3, 64)
