"""The networks of the encoders, and parameters that already mean something before the first step.

A row of the table begins as the teacher's vector of its piece along principal axes. The first layer begins by adding
the mean of a text to each of its tokens, all others by adding little. So a text begins as the mean of its pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from bench.mini.encoders.pieces import Pieces
from vela_jax.backbones.modernbert import ModernBert, ModernBertConfig
from vela_jax.families.task_heads.networks import build_network
from vela_jax.families.task_heads.spec import Spec

MAX_TOKENS: Final = 512
NORM_EPS: Final = 0.01
"""Large, so that the length of a row of the table still weighs behind the norm."""
_COMMON: Final = 1e-3  # share of a piece at which its weight is a half
_MOST_WEIGHT: Final = 0.95
_LEAST_WEIGHT: Final = 0.05
_CAPITAL: Final = 0.4  # length of what all twins with a capital have in common, against a row of length 1
_MEAN: Final = 2.0  # of the mean of a text, against each token
_LITTLE: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large an encoder is."""

    pieces: int
    hidden: int
    inner: int
    layers: int
    heads: int


def config_members(size: Size, pieces: Pieces, architecture: str) -> dict[str, Any]:
    """The content of `config.json` but for what a head adds."""
    return {
        "architectures": [architecture],
        "model_type": "modernbert",
        "vocab_size": pieces.size,
        "hidden_size": size.hidden,
        "intermediate_size": size.inner,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "max_position_embeddings": MAX_TOKENS,
        "hidden_activation": "gelu",
        "global_attn_every_n_layers": 3,
        "local_attention": 128,
        "global_rope_theta": 10000.0,
        "local_rope_theta": 10000.0,
        "norm_eps": NORM_EPS,
        "norm_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        **pieces.ids,
    }


def make_network(
    config: dict[str, Any], spec: Spec, pieces: Pieces, vectors: NDArray[np.float32], seed: int = 0
) -> nnx.Module:
    """A network whose table begins with `vectors` [V D], of length 1 and one a piece; wider ones are cut off."""
    backbone = ModernBertConfig.from_package(config)
    network = build_network(backbone, spec, rngs=nnx.Rngs(seed))
    assert isinstance(network.backbone, ModernBert)
    _start(network.backbone, seed)
    network.backbone.embeddings.tok_embeddings.weight[...] = jnp.asarray(
        _table(vectors[:, : backbone.hidden_size], pieces, seed)
    )
    return network


def _start(backbone: ModernBert, seed: int) -> None:
    hidden, inner = backbone.config.hidden_size, backbone.config.intermediate_size
    rng = np.random.default_rng(seed)

    def drawn(rows: int, columns: int, scale: float) -> jax.Array:
        return jnp.asarray(rng.standard_normal((rows, columns)) * scale, jnp.float32)

    for place, layer in enumerate(backbone.layers):
        layer.attn.Wqkv.weight[...] = drawn(3 * hidden, hidden, 1 / math.sqrt(hidden) if place else _LITTLE)
        layer.attn.Wo.weight[...] = drawn(hidden, hidden, _LITTLE)
        layer.mlp.Wi.weight[...] = drawn(2 * inner, hidden, 1 / math.sqrt(hidden))
        layer.mlp.Wo.weight[...] = drawn(hidden, inner, _LITTLE)
    first = backbone.layers[0].attn
    first.Wqkv.weight[...] = first.Wqkv.weight[...].at[2 * hidden :].set(jnp.eye(hidden, dtype=jnp.float32))
    first.Wo.weight[...] = _MEAN * jnp.eye(hidden, dtype=jnp.float32)


def _table(vectors: NDArray[np.float32], pieces: Pieces, seed: int) -> NDArray[np.float32]:
    """Rows whose norm's output has the weight of its piece: a common piece says little."""
    common = np.random.default_rng(seed).standard_normal((vectors.shape[1],))
    common *= _CAPITAL / np.linalg.norm(common)
    rows = unit(vectors + np.outer(pieces.capital, common).astype(np.float32))
    weight = np.clip(_COMMON / (pieces.share + _COMMON), _LEAST_WEIGHT, _MOST_WEIGHT)
    deviation = weight * np.sqrt(NORM_EPS / (1 - np.square(weight)))
    scaled: NDArray[np.float32] = rows * (deviation * math.sqrt(vectors.shape[1]))[:, None].astype(np.float32)
    return scaled


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors [N D] of length 1."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = (vectors / np.maximum(length, 1e-6)).astype(np.float32)
    return scaled
