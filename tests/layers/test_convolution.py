"""The short convolution: values, continuation, and what padding and shortness leave of its tail."""

import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx

import tests.shape_checks  # noqa: F401
from vela_jax.layers.convolution import ShortConvolution

CONVOLUTION = ShortConvolution(6, 4, rngs=nnx.Rngs(0))
X = jnp.asarray(np.random.default_rng(0).standard_normal((2, 10, 6)), jnp.float32)
NOTHING = CONVOLUTION.nothing(X)


def test_values() -> None:
    theirs = torch.nn.Conv1d(6, 6, 4, groups=6, padding=3, bias=False)
    with torch.inference_mode():
        theirs.weight.copy_(torch.from_numpy(np.array(CONVOLUTION.weight[...])))
        expected = theirs(torch.from_numpy(np.array(X)).transpose(1, 2))[:, :, :10].transpose(1, 2).numpy()
    np.testing.assert_allclose(CONVOLUTION(X, NOTHING), expected, rtol=0, atol=1e-6)


def test_a_continuation_is_the_whole() -> None:
    whole = CONVOLUTION(X, NOTHING)
    tail = CONVOLUTION.tail(X, NOTHING, jnp.asarray([4, 4], jnp.int32))
    np.testing.assert_array_equal(CONVOLUTION(X[:, 4:], tail), whole[:, 4:])


def test_the_tail_is_that_of_the_real_tokens() -> None:
    tail = np.asarray(CONVOLUTION.tail(X, NOTHING, jnp.asarray([10, 2], jnp.int32)))
    np.testing.assert_array_equal(tail[0], X[0, 7:])
    np.testing.assert_array_equal(tail[1], np.concatenate([np.zeros((1, 6), np.float32), X[1, :2]]))
