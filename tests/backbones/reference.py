"""The reference implementation's networks as ours: tiny random models, and weights carried over by the key maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from numpy.typing import NDArray
from transformers import (
    BertConfig,
    BertModel,
    ModernBertConfig,
    ModernBertModel,
    Qwen3_5TextConfig,
    Qwen3_5TextModel,
    Qwen3Config,
    Qwen3Model,
)

from checkpoints.keymaps import BACKBONES
from vela_jax.backbones import backbone_config, build
from vela_jax.backbones.registry import AnyBackbone
from vela_jax.layers.compiler import compiler_options

VOCAB = 200
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192, "rope_theta": 160000.0}
_SIZES = {"vocab_size": VOCAB, "hidden_size": 64, "intermediate_size": 48, "num_attention_heads": 4}
_SPECIALS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1}


@dataclass(frozen=True)
class Pair:
    """A reference network, its `config.json`, and ours with the same weights."""

    theirs: Any
    config: Mapping[str, Any]
    ours: AnyBackbone

    def expected(self, ids: NDArray[np.int32], lengths: Sequence[int]) -> list[NDArray[np.float32]]:
        """The reference's hidden states: embeddings, each layer's output; the last one is final-normed."""
        mask = np.arange(ids.shape[1])[None, :] < np.asarray(lengths)[:, None]
        with torch.inference_mode():
            output = self.theirs(
                input_ids=torch.from_numpy(ids.astype(np.int64)),
                attention_mask=torch.from_numpy(mask.astype(np.int64)),
                output_hidden_states=True,
            )
        return [state.numpy() for state in (*output.hidden_states[:-1], output.last_hidden_state)]


def modernbert(**changes: Any) -> Pair:
    """A tiny ModernBERT: four layers (full, sliding, sliding, full), 8 keys on either side."""
    sizes = {"num_hidden_layers": 4, "local_attention": 16, "max_position_embeddings": 32768, "cls_token_id": 2}
    config = ModernBertConfig(**{**_SIZES, **_SPECIALS, **sizes, "sep_token_id": 1, **changes})
    return _pair(ModernBertModel(config))


def bert(**changes: Any) -> Pair:
    """A tiny BERT of three layers."""
    return _pair(BertModel(BertConfig(**{**_SIZES, "num_hidden_layers": 3, **changes})))


def qwen3(**changes: Any) -> Pair:
    """A tiny Qwen3 of three layers, two query heads to a key-value head, heads wider than D / N."""
    sizes = {"num_hidden_layers": 3, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 4096}
    return _pair(Qwen3Model(Qwen3Config(**{**_SIZES, **_SPECIALS, **sizes, **changes})))


def qwen3_5(**changes: Any) -> Pair:
    """A tiny Qwen3.5 of five layers, the fourth of attention; two value heads to a key head of the delta nets."""
    delta = {"linear_num_key_heads": 2, "linear_num_value_heads": 4}
    widths = {"linear_key_head_dim": 16, "linear_value_head_dim": 16, "head_dim": 32}
    sizes = {"num_hidden_layers": 5, "num_key_value_heads": 2, "max_position_embeddings": 4096}
    rope = {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1]}
    config = {**_SIZES, **_SPECIALS, **delta, **widths, **sizes, "rope_parameters": rope, **changes}
    return _pair(Qwen3_5TextModel(Qwen3_5TextConfig(**config)))


def _pair(theirs: Any) -> Pair:
    """Random weights, far enough from their defaults that each of them matters."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
    config = theirs.config.to_dict()
    return Pair(theirs.eval(), config, carried_over(theirs.state_dict(), config))


def carried_over(tensors: Mapping[str, Any], config: Mapping[str, Any]) -> AnyBackbone:
    """Our backbone with the reference's tensors; each of them is used or ignored, and every leaf is filled."""
    key_map = BACKBONES[config["model_type"]]
    network = build(backbone_config(config["model_type"], config), nnx.Rngs(0))
    graph, state = nnx.split(network)
    leaves = dict(nnx.to_flat_state(state))
    filled = set()
    for key, tensor in tensors.items():
        match = key_map.match(key)
        if match is None:
            assert key_map.is_ignored(key), key
            continue
        path = match.path[1:]
        assert match.transform.stored_shape(leaves[path].shape) == tuple(tensor.shape), key
        leaves[path] = leaves[path].replace(jnp.asarray(match.transform.apply(tensor.numpy())))
        filled.add(path)
    assert filled == set(leaves)
    merged: AnyBackbone = nnx.merge(graph, nnx.from_flat_state(list(leaves.items())))
    return merged


def token_ids(lengths: Sequence[int], width: int | None = None) -> NDArray[np.int32]:
    """Random rows of those lengths, padded with 0."""
    rng = np.random.default_rng(sum(lengths))
    ids = np.zeros((len(lengths), width or max(lengths)), np.int32)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = rng.integers(5, VOCAB, length)
    return ids


def run(
    backbone: AnyBackbone,
    ids: NDArray[np.int32],
    lengths: Sequence[int],
    exits: tuple[int, ...],
    *,
    final_norm_exits: bool = False,
) -> dict[int, NDArray[np.float32]]:
    """Hidden states at `exits`, compiled as the server compiles."""
    forward, state = _compiled(backbone, exits, final_norm_exits)
    states = forward(state, jnp.asarray(ids), jnp.asarray(lengths, jnp.int32))
    return {k: np.asarray(v) for k, v in states.items()}


@cache
def _compiled(backbone: AnyBackbone, exits: tuple[int, ...], final_norm_exits: bool) -> tuple[Any, Any]:
    """The pure forward, compiled once a shape, and its parameters."""
    graph, state = nnx.split(backbone)

    def forward(state: Any, ids: jax.Array, lengths: jax.Array) -> dict[int, jax.Array]:
        states: dict[int, jax.Array] = nnx.merge(graph, state)(ids, lengths, exits, final_norm_exits=final_norm_exits)
        return states

    return jax.jit(forward, compiler_options=compiler_options("cpu")), state
