"""The candidate head: its formula in float64, the row's last token as the question, and bits in company."""

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx

from vela_jax.heads.candidate import CandidateHead
from vela_jax.layers.compiler import compiler_options
from vela_jax.layers.linear import Linear

HEAD = CandidateHead(32, 8, rngs=nnx.Rngs(0))
HIDDEN = jnp.asarray(np.random.default_rng(0).standard_normal((5, 24, 32)), jnp.float32)
LENGTHS = jnp.asarray([24, 7, 1, 0, 20], jnp.int32)


def kernel(linear: Linear) -> torch.Tensor:
    weight: torch.Tensor = torch.from_numpy(np.array(linear.weight[...], np.float64))
    return weight


def test_formula() -> None:
    assert HEAD.candidate_mlp.bias is not None
    HEAD.candidate_mlp.bias[...] = jnp.linspace(-1, 1, 8)
    hidden = torch.from_numpy(np.array(HIDDEN, np.float64))
    found = np.asarray(HEAD(HIDDEN, LENGTHS))
    for row, length in enumerate(LENGTHS.tolist()[:3]):
        candidates = torch.nn.functional.layer_norm(hidden[row], (32,), eps=1e-5)
        question = candidates[length - 1]
        bias = torch.linspace(-1, 1, 8, dtype=torch.float64)
        likeness = (candidates @ kernel(HEAD.key).T) @ (kernel(HEAD.query) @ question) / 8**0.5
        inner = candidates @ kernel(HEAD.candidate_mlp).T + bias + kernel(HEAD.query_mlp) @ question
        expected = likeness + torch.nn.functional.gelu(inner) @ kernel(HEAD.scalar)[0]
        np.testing.assert_allclose(found[row], expected.numpy(), rtol=0, atol=1e-5)


def test_a_row_has_the_same_bits_alone_and_in_company() -> None:
    graph, state = nnx.split(HEAD)
    apply = jax.jit(lambda state, *x: nnx.merge(graph, state)(*x), compiler_options=compiler_options("cpu"))
    together = np.asarray(apply(state, HIDDEN, LENGTHS))
    np.testing.assert_array_equal(apply(state, HIDDEN[:1], LENGTHS[:1])[0], together[0])
    assert np.isfinite(together).all()
