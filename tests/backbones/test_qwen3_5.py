"""Qwen3.5: the reference implementation in FP32 within 1e-4, trees against plain rows, and the bits of branches."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from numpy.typing import NDArray

from tests.backbones import reference
from tests.backbones.reference import Pair, run, token_ids
from vela_jax.backbones.qwen3_5 import Prefix, Qwen35, Qwen35Config
from vela_jax.forward.buckets import count_ladder
from vela_jax.layers.compiler import compiler_options
from vela_jax.layers.config import ConfigError

States = NDArray[np.float32]
ROOM = 160


@cache
def pair(name: str) -> Pair:
    changes: dict[str, dict[str, Any]] = {
        "usual": {},
        "equal heads": {"linear_num_value_heads": 2, "attention_bias": True, "num_hidden_layers": 4},
    }
    return reference.qwen3_5(**changes[name])


@pytest.mark.parametrize(("name", "lengths", "width"), [("usual", (30, 17, 3, 1), 48), ("equal heads", (150, 3), 160)])
def test_parity_at_every_exit(name: str, lengths: Sequence[int], width: int) -> None:
    ids = token_ids(lengths, width)
    expected = pair(name).expected(ids, lengths)
    states = run(pair(name).ours, ids, lengths, tuple(range(len(expected))))
    for depth, state in enumerate(expected):
        for row, length in enumerate(lengths):
            np.testing.assert_allclose(states[depth][row, :length], state[row, :length], rtol=0, atol=1e-4)


def test_parity_across_blocks_of_queries() -> None:
    ids = token_ids([1500])
    expected = pair("usual").expected(ids, [1500])[-1]
    np.testing.assert_allclose(run(pair("usual").ours, ids, [1500], (5,))[5], expected, rtol=0, atol=1e-4)


@cache
def tree() -> tuple[Any, Any, Any]:
    """The compiled halves of a tree's forward, and the parameters."""
    graph, state = nnx.split(pair("usual").ours)

    def network(state: Any) -> Qwen35:
        merged = nnx.merge(graph, state)
        assert isinstance(merged, Qwen35)
        return merged

    def prefix(state: Any, ids: jax.Array, lengths: jax.Array) -> Prefix:
        return network(state).read_prefix(ids, lengths, ROOM)

    def branches(state: Any, before: Prefix, ids: jax.Array, lengths: jax.Array) -> jax.Array:
        return network(state).read_branches(before, ids, lengths)

    options = compiler_options("cpu")
    return jax.jit(prefix, compiler_options=options), jax.jit(branches, compiler_options=options), state


def read(prefix: NDArray[np.int32], width: int, branches: Sequence[NDArray[np.int32]], count: int) -> list[States]:
    """Hidden states of branches of up to 32 tokens after a prefix padded to `width`, `count` at once."""
    first, second, state = tree()
    padded = np.zeros((1, width), np.int32)
    padded[0, : len(prefix)] = prefix
    before = first(state, jnp.asarray(padded), jnp.asarray([len(prefix)], jnp.int32))
    ids, lengths = np.zeros((count, 32), np.int32), np.zeros(count, np.int32)
    for slot, branch in enumerate(branches):
        ids[slot, : len(branch)] = branch
        lengths[slot] = len(branch)
    states = np.asarray(second(state, before, jnp.asarray(ids), jnp.asarray(lengths)))
    return [states[slot, : len(branch)] for slot, branch in enumerate(branches)]


BRANCHES = [token_ids([length])[0] for length in (32, 1, 17, 30)]


@pytest.mark.parametrize(("length", "width"), [(100, 128), (2, 16), (128, 128)])
def test_a_branch_is_the_end_of_a_plain_row(length: int, width: int) -> None:
    prefix = token_ids([length])[0]
    states = read(prefix, width, BRANCHES, 5)
    for branch, state in zip(BRANCHES, states, strict=True):
        row = np.concatenate([prefix, branch])[None]
        plain = run(pair("usual").ours, np.pad(row, ((0, 0), (0, 160 - row.shape[1]))), [row.shape[1]], (5,))[5]
        np.testing.assert_allclose(state, plain[0, length : row.shape[1]], rtol=0, atol=1e-4)


def test_a_branch_has_the_same_bits_beside_any_others() -> None:
    prefix = token_ids([100])[0]
    (alone,) = read(prefix, 128, BRANCHES[2:3], 1)
    for count in count_ladder(32, 5 * 32).sizes[2:]:
        together = read(prefix, 128, BRANCHES, count)
        np.testing.assert_array_equal(together[2], alone)
        moved = read(prefix, 128, BRANCHES[::-1], count)
        np.testing.assert_array_equal(moved[1], alone)


def test_what_stands_behind_a_prefix_changes_nothing() -> None:
    first, _, state = tree()
    ids = token_ids([100], 128)
    lengths = jnp.asarray([100], jnp.int32)
    clean = first(state, jnp.asarray(ids), lengths)
    ids[0, 100:] = 77
    other = first(state, jnp.asarray(ids), lengths)
    for ours, theirs in zip(clean.layers, other.layers, strict=True):
        for one, two in zip(ours, theirs, strict=True):
            kept = slice(100) if one.ndim == 4 and one.shape[2] == ROOM else slice(None)
            np.testing.assert_array_equal(np.asarray(one)[:, :, kept], np.asarray(two)[:, :, kept])


CONFIG = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25},
}


def test_config() -> None:
    config = Qwen35Config.from_package(CONFIG)
    assert (config.rotary_width, config.rope.theta, config.rms_norm_eps) == (2, 1e7, 1e-6)
    assert (config.key_width, config.value_width) == (16, 32)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"layer_types": ["linear_attention"]}, "layer_types"),
        ({"layer_types": ["linear_attention", "sliding_attention"]}, "layer_types"),
        ({"layer_types": None}, "layer_types"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"attn_output_gate": False}, "attn_output_gate"),
        ({"attention_mode": "noncausal_full_attention"}, "attention_mode"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"linear_num_key_heads": 3}, "linear_num_key_heads"),
        ({"rope_parameters": None}, "rope_parameters"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e7}}, "rope_type"),
        ({"rope_parameters": {"rope_theta": 1e7, "partial_rotary_factor": 0.4}}, "partial_rotary_factor"),
        ({"linear_conv_kernel_dim": 1}, "linear_conv_kernel_dim"),
    ],
)
def test_what_is_not_computed_is_refused(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        Qwen35Config.from_package(CONFIG | change)
