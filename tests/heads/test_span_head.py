"""The span head: its formula in float64, words that share a token, labels beyond its places, and bits in company."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from numpy.typing import NDArray
from torch.nn.functional import gelu, layer_norm

from vela_jax.heads.spans import SpanConfig, SpanHead
from vela_jax.layers.compiler import compiler_options

HEAD: Any = SpanHead(32, SpanConfig(8, 2), rngs=nnx.Rngs(0))
MOST = 4
HIDDEN = jnp.asarray(np.random.default_rng(0).standard_normal((3, 24, 32)), jnp.float32)
WORDS = np.zeros((3, 24), np.int32)
WORDS[0, [12, 15, 16]] = [1, 2, 1]
WORDS[1, [5, 9]] = 1
LABELS = np.zeros((3, 24), np.int32)
LABELS[0, 2:4], LABELS[0, 4:9], LABELS[0, 9] = 1, 2, 3
LABELS[1, 1:4] = 1


def expected(row: int) -> NDArray[np.float64]:
    """Logits of the row's words, each word once, against its labels."""
    weight = {name: torch.from_numpy(np.array(getattr(HEAD, name).weight[...], np.float64)) for name in "KQMNv"}
    slots = torch.from_numpy(np.array(HEAD.slot.weight[...], np.float64))
    hidden = torch.from_numpy(np.array(HIDDEN[row], np.float64))
    words = layer_norm(hidden[np.repeat(np.arange(24), WORDS[row])], (32,), eps=1e-5)
    words = words - words.mean(0)
    count = int(LABELS[row].max())
    means = torch.stack([hidden[LABELS[row] == number].mean(0) for number in range(1, count + 1)])
    labels = layer_norm(means, (32,), eps=1e-5) + slots[[min(index, 1) for index in range(count)]]
    if count > 1:
        labels = labels - labels.mean(0)
    inner = (words @ weight["M"].T)[:, None] + (labels @ weight["N"].T)[None]
    scores = (words @ weight["K"].T) @ (labels @ weight["Q"].T).T / 8**0.5 + gelu(inner) @ weight["v"][0]
    found: NDArray[np.float64] = scores.numpy()
    return found


def test_formula() -> None:
    scores = np.asarray(HEAD(HIDDEN, jnp.asarray(WORDS), jnp.asarray(LABELS), MOST))
    for row in (0, 1):
        places = np.repeat(np.arange(24), WORDS[row])
        wanted = expected(row)
        np.testing.assert_allclose(scores[row, places, : wanted.shape[1]], wanted, rtol=0, atol=1e-5)


def test_rows_without_words_and_labels_are_finite() -> None:
    scores = HEAD(HIDDEN, jnp.asarray(WORDS), jnp.asarray(LABELS), MOST)
    assert scores.shape == (3, 24, MOST)
    assert np.isfinite(np.asarray(scores)).all()


def test_a_row_has_the_same_bits_alone_and_in_company() -> None:
    graph, state = nnx.split(HEAD)
    apply = jax.jit(lambda state, *x: nnx.merge(graph, state)(*x, MOST), compiler_options=compiler_options("cpu"))
    together = np.asarray(apply(state, HIDDEN, jnp.asarray(WORDS), jnp.asarray(LABELS)))
    alone = np.asarray(apply(state, HIDDEN[1:2], jnp.asarray(WORDS[1:2]), jnp.asarray(LABELS[1:2])))
    np.testing.assert_array_equal(alone[0], together[1])
