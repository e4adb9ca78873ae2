"""ModernBERT: an encoder of pre-normed layers, full and sliding attention in turn (Vela 1.0 format, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.backbones.backbone import check_exits
from vela_jax.layers.activations import ACTIVATIONS
from vela_jax.layers.attention import full_attention, sliding_attention
from vela_jax.layers.config import ConfigReader
from vela_jax.layers.linear import Embedding, Linear
from vela_jax.layers.mlp import GatedMlp
from vela_jax.layers.norms import LayerNorm
from vela_jax.layers.rotary import Rope, RopeTable, read_rope, rope_table, rotate

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"


@dataclass(frozen=True, slots=True)
class ModernBertConfig:
    """The values of `config.json` that decide the network, by their own names; `ropes` holds (layer type, rotary)."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    norm_eps: float
    norm_bias: bool
    attention_bias: bool
    mlp_bias: bool
    hidden_activation: str
    layer_types: tuple[str, ...]
    local_attention: int
    ropes: tuple[tuple[str, Rope], ...]

    @classmethod
    def from_package(cls, config: Mapping[str, Any]) -> ModernBertConfig:
        """Read a parsed `config.json`. Raises ConfigError for what this backbone does not compute."""
        reader = ConfigReader(config)
        hidden, heads = reader.integer("hidden_size"), reader.integer("num_attention_heads")
        if hidden % (2 * heads):
            raise reader.error("hidden_size", f"a multiple of twice num_attention_heads ({heads})")
        max_positions = reader.integer("max_position_embeddings")
        return cls(
            vocab_size=reader.integer("vocab_size"),
            hidden_size=hidden,
            num_hidden_layers=reader.integer("num_hidden_layers"),
            num_attention_heads=heads,
            intermediate_size=reader.integer("intermediate_size"),
            max_position_embeddings=max_positions,
            norm_eps=reader.positive("norm_eps", 1e-5),
            norm_bias=reader.flag("norm_bias", default=False),
            attention_bias=reader.flag("attention_bias", default=False),
            mlp_bias=reader.flag("mlp_bias", default=False),
            hidden_activation=reader.choice("hidden_activation", ACTIVATIONS, "gelu"),
            layer_types=_read_layer_types(reader),
            local_attention=reader.integer("local_attention", 128),
            ropes=(
                (FULL, _read_rope(reader, FULL, reader.positive("global_rope_theta", 160000.0), max_positions)),
                (SLIDING, _read_rope(reader, SLIDING, reader.positive("local_rope_theta", 10000.0), max_positions)),
            ),
        )

    @property
    def head_width(self) -> int:
        """Channels of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def half_window(self) -> int:
        """Furthest key on either side that a query of a sliding layer sees."""
        return self.local_attention // 2


def _read_layer_types(reader: ConfigReader) -> tuple[str, ...]:
    """One attention type a layer: named one by one, or a full layer every so many."""
    count = reader.integer("num_hidden_layers")
    named = reader.get("layer_types")
    if named:
        if not isinstance(named, list) or len(named) != count or not set(named) <= {FULL, SLIDING}:
            raise reader.error("layer_types", f"a list of {count} values, each {FULL} or {SLIDING}")
        return tuple(named)
    every = reader.integer("global_attn_every_n_layers", 3)
    return tuple(FULL if i % every == 0 else SLIDING for i in range(count))


def _read_rope(reader: ConfigReader, layer_type: str, theta: float, max_positions: int) -> Rope:
    """Rotary parameters of a layer type: its own object, overlaid by the older `rope_scaling` of both types."""
    own = reader.section("rope_parameters")
    entry = None if own is None else own.section(layer_type)
    scaling = reader.section("rope_scaling")
    values = {"rope_type": "default"} if entry is None else dict(entry.values)
    where = f"rope_parameters.{layer_type}"
    if scaling is not None and scaling.values:
        values.update(scaling.values)
        where = "rope_scaling"
    return read_rope(values, where, theta=theta, max_positions=max_positions)


class Embeddings(nnx.Module):
    """Token vectors, normed."""

    def __init__(self, config: ModernBertConfig, *, rngs: nnx.Rngs) -> None:
        self.tok_embeddings = Embedding(config.vocab_size, config.hidden_size, rngs=rngs)
        self.norm = LayerNorm(config.hidden_size, eps=config.norm_eps, bias=config.norm_bias)

    def __call__(self, ids: Int32[jax.Array, "B S"]) -> Float[jax.Array, "B S D"]:
        """The stack's input."""
        return self.norm(self.tok_embeddings(ids))


class Attention(nnx.Module):
    """Self-attention of one layer, full or sliding."""

    def __init__(self, config: ModernBertConfig, layer_type: str, *, rngs: nnx.Rngs) -> None:
        hidden = config.hidden_size
        self.Wqkv = Linear(hidden, 3 * hidden, bias=config.attention_bias, rngs=rngs)
        self.Wo = Linear(hidden, hidden, bias=config.attention_bias, rngs=rngs)
        self.num_heads = config.num_attention_heads
        self.half_window = config.half_window if layer_type == SLIDING else None

    def __call__(
        self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"], table: RopeTable
    ) -> Float[jax.Array, "B T D"]:
        """Mix the tokens of each row."""
        rows, width, hidden = x.shape
        qkv = self.Wqkv(x).reshape(rows, width, 3 * self.num_heads, -1)
        qk = rotate(qkv[:, :, : 2 * self.num_heads], table)
        q, k = (a.transpose(0, 2, 1, 3) for a in jnp.split(qk, 2, axis=2))  # [B N T H]
        v = qkv[:, :, 2 * self.num_heads :].transpose(0, 2, 1, 3)
        if self.half_window is None:
            mixed = full_attention(q[:, :, None], k, v, lengths)[:, :, 0]
        else:
            mixed = sliding_attention(q, k, v, lengths, half_window=self.half_window)
        return self.Wo(mixed.transpose(0, 2, 1, 3).reshape(rows, width, hidden))


class Layer(nnx.Module):
    """x + Attn(norm(x)), then x + MLP(norm(x)); the first layer's input is already normed."""

    def __init__(self, config: ModernBertConfig, index: int, *, rngs: nnx.Rngs) -> None:
        hidden, norm_eps, norm_bias = config.hidden_size, config.norm_eps, config.norm_bias
        self.layer_type = config.layer_types[index]
        self.attn_norm = LayerNorm(hidden, eps=norm_eps, bias=norm_bias) if index > 0 else None
        self.attn = Attention(config, self.layer_type, rngs=rngs)
        self.mlp_norm = LayerNorm(hidden, eps=norm_eps, bias=norm_bias)
        self.mlp = GatedMlp(
            hidden, config.intermediate_size, activation=config.hidden_activation, bias=config.mlp_bias, rngs=rngs
        )

    def __call__(
        self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"], table: RopeTable
    ) -> Float[jax.Array, "B T D"]:
        """One step of the residual stream."""
        normed = x if self.attn_norm is None else self.attn_norm(x)
        x = x + self.attn(normed, lengths, table)
        return x + self.mlp(self.mlp_norm(x))


class ModernBert(nnx.Module):
    """The encoder. Attribute paths are the checkpoint's names."""

    def __init__(self, config: ModernBertConfig, *, rngs: nnx.Rngs) -> None:
        self.config = config
        self.embeddings = Embeddings(config, rngs=rngs)
        self.layers = nnx.List([Layer(config, i, rngs=rngs) for i in range(config.num_hidden_layers)])
        self.final_norm = LayerNorm(config.hidden_size, eps=config.norm_eps, bias=config.norm_bias)

    def __call__(
        self,
        ids: Int32[jax.Array, "B S"],
        lengths: Int32[jax.Array, " B"],
        exits: tuple[int, ...],
        *,
        final_norm_exits: bool = False,
    ) -> dict[int, Float[jax.Array, "B S D"]]:
        """Hidden states at `exits`, as `Backbone` says."""
        depth = self.config.num_hidden_layers
        check_exits(exits, depth)
        tables = {name: rope_table(rope, ids.shape[1], self.config.head_width) for name, rope in self.config.ropes}
        x = self.embeddings(ids)
        stream = {0: x}
        for i, layer in enumerate(self.layers[: max(exits)]):
            x = layer(x, lengths, tables[layer.layer_type])
            stream[i + 1] = x
        return {
            k: self.final_norm(stream[k]) if k == depth or final_norm_exits else stream[k] for k in sorted(set(exits))
        }
