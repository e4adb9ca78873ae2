"""Attention: against the reference in FP64, blocked against dense, padding, empty rows, neighbours, row counts."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from vela_jax.layers import attention
from vela_jax.layers.attention import block_queries, full_attention, real_tokens, sliding_attention
from vela_jax.layers.compiler import compiler_options

Inputs = tuple[jax.Array, jax.Array, jax.Array]


def inputs(rows: int, heads: int, group: int, width: int, features: int = 16, seed: int = 0) -> Inputs:
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((rows, heads, group, width, features))
    k, v = (rng.standard_normal((rows, heads, width, features)) for _ in range(2))
    return jnp.asarray(q, jnp.float32), jnp.asarray(k, jnp.float32), jnp.asarray(v, jnp.float32)


def lengths_of(*lengths: int) -> jax.Array:
    return jnp.asarray(lengths, jnp.int32)


Attention = Callable[[jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]


@jax.jit
def plain(q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array) -> jax.Array:
    return full_attention(q, k, v, lengths)


@jax.jit
def causal(q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array) -> jax.Array:
    return full_attention(q, k, v, lengths, causal=True)


@partial(jax.jit, static_argnames="half_window")
def sliding(q: jax.Array, k: jax.Array, v: jax.Array, lengths: jax.Array, *, half_window: int = 8) -> jax.Array:
    """Sliding attention of queries with a group axis of one."""
    return sliding_attention(q[:, :, 0], k, v, lengths, half_window=half_window)[:, :, None]


def exact(arrays: Inputs, lengths: jax.Array, *, causal: bool = False, half_window: int = 10**6) -> NDArray[np.float64]:
    """The formula in FP64, with a dense mask."""
    q, k, v = (np.asarray(a, np.float64) for a in arrays)
    width = k.shape[2]
    i, j = np.arange(width)[:, None], np.arange(width)[None, :]
    seen = (np.abs(i - j) <= half_window) & ((j <= i) if causal else True)
    seen = seen[None] & (np.arange(width)[None, None, :] < np.asarray(lengths)[:, None, None])
    scores = np.einsum("bkgth,bksh->bkgts", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(seen[:, None, None], scores, -1e30)  # finite: padded queries may see no key
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed: NDArray[np.float64] = np.einsum("bkgts,bksh->bkgth", weights / weights.sum(axis=-1, keepdims=True), v)
    return mixed


def assert_real_queries_close(ours: jax.Array, expected: NDArray[np.float64], lengths: jax.Array) -> None:
    for row, length in enumerate(np.asarray(lengths)):
        np.testing.assert_allclose(np.asarray(ours)[row, ..., :length, :], expected[row, ..., :length, :], atol=3e-6)


@pytest.mark.parametrize("order", [plain, causal])
@pytest.mark.parametrize("group", [1, 3])
def test_full(order: Attention, group: int) -> None:
    arrays, lengths = inputs(3, 2, group, 48), lengths_of(48, 7, 1)
    expected = exact(arrays, lengths, causal=order is causal)
    assert_real_queries_close(order(*arrays, lengths), expected, lengths)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("limit", [1 << 9, 1 << 12])
def test_full_in_blocks_equals_direct(monkeypatch: pytest.MonkeyPatch, causal: bool, limit: int) -> None:
    arrays, lengths = inputs(2, 2, 2, 80), lengths_of(75, 80)
    direct = full_attention(*arrays, lengths, causal=causal)
    monkeypatch.setattr(attention, "SCORES_AT_ONCE", limit)
    blocked = full_attention(*arrays, lengths, causal=causal)
    np.testing.assert_allclose(np.asarray(blocked), np.asarray(direct), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("group", "width", "block"), [(1, 1024, 1024), (1, 4096, 256), (1, 32768, 32), (2, 32768, 16)])
def test_blocks_keep_the_scores_within_bounds(group: int, width: int, block: int) -> None:
    assert block_queries(group, width) == block
    assert group * block * width <= attention.SCORES_AT_ONCE


def test_blocks_are_never_smaller_than_sixteen() -> None:
    assert block_queries(16, 1 << 20) == 16


@pytest.mark.parametrize(
    ("width", "half_window"), [(48, 4), (192, 64), (208, 0), (208, 70), (256, 6), (400, 64), (512, 100)]
)
def test_sliding(width: int, half_window: int) -> None:
    arrays, lengths = inputs(2, 2, 1, width), lengths_of(width - 3, width // 2)
    ours = sliding(*arrays, lengths, half_window=half_window)
    assert_real_queries_close(ours, exact(arrays, lengths, half_window=half_window), lengths)


@pytest.mark.parametrize(("width", "half_window"), [(2100, 10), (4300, 64)])
def test_sliding_of_long_rows_equals_a_dense_mask(width: int, half_window: int) -> None:
    arrays, lengths = inputs(1, 1, 1, width), lengths_of(width - 17)
    ours = sliding(*arrays, lengths, half_window=half_window)
    assert_real_queries_close(ours, exact(arrays, lengths, half_window=half_window), lengths)


def test_the_window_is_inclusive_on_both_sides() -> None:
    width, half_window = 256, 8
    q, k, _ = inputs(1, 1, 1, width, features=256)
    v = jnp.eye(width, dtype=jnp.float32)[None, None]  # the output of a query is its weights
    weights = np.asarray(sliding(q, k, v, lengths_of(width), half_window=half_window))[0, 0, 0]
    distance = np.abs(np.arange(width)[:, None] - np.arange(width)[None, :])
    np.testing.assert_array_equal(weights > 0, distance <= half_window)


KINDS = pytest.mark.parametrize(
    ("attend", "width"), [(plain, 32), (causal, 32), (sliding, 32), (sliding, 256), (plain, 1200)]
)


@KINDS
def test_padding_keys_weigh_exactly_nothing(attend: Attention, width: int) -> None:
    (q, k, v), length = inputs(1, 4, 1, width), width - 9
    quiet = attend(q, k, v, lengths_of(length))
    loud = attend(q, k.at[:, :, length:].set(1e4), v.at[:, :, length:].set(-1e30), lengths_of(length))
    np.testing.assert_array_equal(np.asarray(loud)[..., :length, :], np.asarray(quiet)[..., :length, :])


@KINDS
def test_empty_rows_are_finite(attend: Attention, width: int) -> None:
    arrays = inputs(3, 4, 1, width)
    mixed = np.asarray(attend(*arrays, lengths_of(0, 1, width)))
    assert np.isfinite(mixed).all()
    first = np.asarray(arrays[2])[1, :, 0]  # the only key of a row of one token
    np.testing.assert_allclose(mixed[1, :, 0, 0], first, rtol=0, atol=1e-6)


@KINDS
def test_a_neighbour_of_nan_does_not_leak(attend: Attention, width: int) -> None:
    q, k, v = inputs(2, 4, 1, width)
    lengths = lengths_of(width - 5, width)
    clean = np.asarray(attend(q, k, v, lengths))[0]
    q, k, v = (a.at[1].set(jnp.nan) for a in (q, k, v))
    spoiled = np.asarray(attend(q, k, v, lengths))[0]
    np.testing.assert_array_equal(spoiled, clean)


@KINDS
def test_a_row_has_the_same_bits_for_every_row_count_and_place(attend: Attention, width: int) -> None:
    arrays = inputs(4, 4, 1, width)
    lengths = lengths_of(width - 3, width, 1, 5)
    apply = jax.jit(attend, compiler_options=compiler_options("cpu"))
    alone = np.asarray(apply(*(a[:1] for a in arrays), lengths[:1]))[0]
    for count in (2, 4):
        together = np.asarray(apply(*(a[:count] for a in arrays), lengths[:count]))
        np.testing.assert_array_equal(together[0], alone)
        turned = np.asarray(apply(*(a[:count][::-1] for a in arrays), lengths[:count][::-1]))
        np.testing.assert_array_equal(turned[-1], alone)


def test_real_tokens() -> None:
    mask = real_tokens(lengths_of(0, 2, 3), 3)
    np.testing.assert_array_equal(np.asarray(mask), [[0, 0, 0], [1, 1, 0], [1, 1, 1]])
