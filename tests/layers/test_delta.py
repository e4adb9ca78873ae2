"""The gated delta rule in chunks against its definition, token by token, in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tests.shape_checks  # noqa: F401
from vela_jax.layers.compiler import compiler_options
from vela_jax.layers.delta import chunk_length, gated_delta_rule, unit_lower_inverse

Array = NDArray[np.float64]
RULE = jax.jit(gated_delta_rule, compiler_options=compiler_options("cpu"))


def token_by_token(q: Array, k: Array, v: Array, decay: Array, beta: Array, state: Array) -> tuple[Array, Array]:
    """The recurrence of one row as it is defined."""
    q, k = (x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6) for x in (q, k))
    state, out = state.copy(), np.zeros(v.shape)
    for t in range(v.shape[0]):
        state *= np.exp(decay[t])[:, None, None]
        held = (k[t][:, :, None] * state).sum(1)
        state += k[t][:, :, None] * (beta[t][:, None] * (v[t] - held))[:, None, :]
        out[t] = (q[t][:, :, None] * state).sum(1) * q.shape[-1] ** -0.5
    return out, state


def inputs(rows: int, length: int, seed: int = 0, heads: int = 2, width: int = 16) -> list[Array]:
    source = np.random.default_rng(seed)
    q, k, v = (source.standard_normal((rows, length, heads, width)) for _ in range(3))
    decay = -np.abs(source.standard_normal((rows, length, heads))) * source.choice(
        [0.01, 1.0, 20.0], size=(1, 1, heads)
    )
    beta = source.uniform(0, 1, (rows, length, heads))
    return [q, k, v, decay, beta, source.standard_normal((rows, heads, width, width))]


def run(values: list[Array]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    out, state = RULE(*(jnp.asarray(x, jnp.float32) for x in values))
    return np.asarray(out), np.asarray(state)


@pytest.mark.parametrize("length", [1, 10, 64, 150])
def test_rule(length: int) -> None:
    values = inputs(2, length)
    out, state = run(values)
    for row in range(2):
        expected, last = token_by_token(*(x[row] for x in values))
        np.testing.assert_allclose(out[row], expected, rtol=0, atol=2e-5)
        np.testing.assert_allclose(state[row], last, rtol=0, atol=2e-5)


def test_equal_keys_that_nothing_fades() -> None:
    values = inputs(1, 64)
    values[1][:] = values[1][:, :1]
    values[3][:] = 0
    values[4][:] = 1
    expected, last = token_by_token(*(x[0] for x in values))
    out, state = run(values)
    np.testing.assert_allclose(out[0], expected, rtol=0, atol=2e-5)
    np.testing.assert_allclose(state[0], last, rtol=0, atol=2e-5)


def test_a_continuation_is_the_whole() -> None:
    values = inputs(1, 150)
    whole, last = run(values)
    _, middle = run([*(x[:, :70] for x in values[:5]), values[5]])
    rest, end = run([*(x[:, 70:] for x in values[:5]), middle.astype(np.float64)])
    np.testing.assert_allclose(rest, whole[:, 70:], rtol=0, atol=2e-5)
    np.testing.assert_allclose(end, last, rtol=0, atol=2e-5)


def test_tokens_without_weight_and_fading_leave_the_state() -> None:
    values = inputs(1, 64)
    _, short = run([*(x[:, :40] for x in values[:5]), values[5]])
    values[3][:, 40:] = 0
    values[4][:, 40:] = 0
    _, padded = run(values)
    np.testing.assert_allclose(padded, short, rtol=0, atol=1e-6)


def test_a_row_has_the_same_bits_alone_and_beside_others() -> None:
    values = inputs(5, 150)
    together, states = run(values)
    for row in (0, 4):
        alone, state = run([x[row : row + 1] for x in values])
        np.testing.assert_array_equal(alone[0], together[row])
        np.testing.assert_array_equal(state[0], states[row])


def test_inverse() -> None:
    lower = np.tril(np.random.default_rng(0).standard_normal((3, 16, 16)), -1).astype(np.float32)
    inverse = np.asarray(unit_lower_inverse(jnp.asarray(lower)))
    identity = np.broadcast_to(np.eye(16, dtype=np.float32), lower.shape)
    np.testing.assert_allclose((identity + lower) @ inverse, identity, rtol=0, atol=1e-2)
    assert (np.triu(inverse, 1) == 0).all()


@pytest.mark.parametrize(("length", "chunk"), [(1, 8), (8, 8), (9, 16), (48, 64), (64, 64), (16384, 64)])
def test_chunks(length: int, chunk: int) -> None:
    assert chunk_length(length) == chunk
