"""Whole backbones against the reference implementation in FP32, at every exit: within 1e-5, never relaxed."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.backbones import reference
from tests.backbones.reference import YARN, Pair, run, token_ids

BIASED = {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "norm_eps": 1e-4}
TYPES = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
CASES: dict[str, Callable[[], Pair]] = {
    "modernbert": reference.modernbert,
    "modernbert-yarn": lambda: reference.modernbert(
        rope_parameters={"full_attention": YARN, "sliding_attention": YARN}
    ),
    "modernbert-mixed-rotary": lambda: reference.modernbert(
        rope_parameters={
            "full_attention": {**YARN, "original_max_position_embeddings": 64, "attention_factor": 1.05},
            "sliding_attention": {"rope_type": "default", "rope_theta": 5000.0},
        }
    ),
    "modernbert-biases": lambda: reference.modernbert(**BIASED, hidden_activation="silu"),
    "modernbert-layer-types": lambda: reference.modernbert(layer_types=TYPES, hidden_activation="gelu_pytorch_tanh"),
    "bert": reference.bert,
    "bert-relu": lambda: reference.bert(hidden_act="relu", type_vocab_size=3, layer_norm_eps=1e-6),
    "qwen3": reference.qwen3,
    "qwen3-biases": lambda: reference.qwen3(attention_bias=True, num_key_value_heads=4),
}


@cache
def pair(name: str) -> Pair:
    return CASES[name]()


def assert_parity(pair: Pair, lengths: Sequence[int], width: int | None = None, tokens: slice = slice(None)) -> None:
    ids = token_ids(lengths, width)
    expected = pair.expected(ids, lengths)
    states = run(pair.ours, ids, lengths, tuple(range(len(expected))))
    for depth, state in enumerate(expected):
        for row, length in enumerate(lengths):
            ours, theirs = states[depth][row, :length][tokens], state[row, :length][tokens]
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5, err_msg=f"exit {depth}, row {row}")


@pytest.mark.parametrize("name", sorted(CASES))
def test_padded_batch(name: str) -> None:
    assert_parity(pair(name), (30, 17, 3, 1), 48)


@pytest.mark.parametrize("name", ["modernbert-yarn", "qwen3"])
def test_unpadded_row(name: str) -> None:
    assert_parity(pair(name), (29,))


@pytest.mark.parametrize("length", [60, 130, 600, 3000])
def test_lengths_across_windows_and_blocks(length: int) -> None:
    assert_parity(pair("modernbert-mixed-rotary"), (length,))


@pytest.mark.parametrize("name", ["modernbert-yarn", "qwen3"])
def test_long_rows_and_a_short_neighbour(name: str) -> None:
    assert_parity(pair(name), (1500, 3))


def test_the_last_of_eight_thousand_tokens() -> None:
    assert_parity(pair("modernbert-yarn"), (8000,), tokens=slice(-50, None))


def test_parts_of_the_network_are_those_of_the_config() -> None:
    plain: Any = pair("modernbert").ours
    biased: Any = pair("modernbert-biases").ours
    assert plain.layers[0].attn_norm is None
    assert plain.layers[1].attn_norm.bias is None
    assert biased.layers[1].attn_norm.bias is not None
