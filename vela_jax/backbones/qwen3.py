"""Qwen3, dense: a causal decoder stack with grouped keys and normed heads (decision models, section 9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.backbones.backbone import check_exits
from vela_jax.layers.attention import full_attention
from vela_jax.layers.config import ConfigReader
from vela_jax.layers.linear import Embedding, Linear
from vela_jax.layers.mlp import SwiGlu
from vela_jax.layers.norms import RMSNorm
from vela_jax.layers.rotary import Rope, RopeTable, read_rope, rope_table, rotate


@dataclass(frozen=True, slots=True)
class Qwen3Config:
    """The values of `config.json` that decide the network, by their own names."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    attention_bias: bool
    rope: Rope

    @classmethod
    def from_package(cls, config: Mapping[str, Any]) -> Qwen3Config:
        """Read a parsed `config.json`. Raises ConfigError for what this backbone does not compute."""
        reader = ConfigReader(config)
        _check_layers(reader)
        hidden, heads = reader.integer("hidden_size"), reader.integer("num_attention_heads")
        groups = reader.integer("num_key_value_heads")
        if heads % groups:
            raise reader.error("num_attention_heads", f"a multiple of num_key_value_heads ({groups})")
        head_dim = reader.integer("head_dim", hidden // heads)
        if head_dim % 2:
            raise reader.error("head_dim", "even")
        max_positions = reader.integer("max_position_embeddings")
        return cls(
            vocab_size=reader.integer("vocab_size"),
            hidden_size=hidden,
            intermediate_size=reader.integer("intermediate_size"),
            num_hidden_layers=reader.integer("num_hidden_layers"),
            num_attention_heads=heads,
            num_key_value_heads=groups,
            head_dim=head_dim,
            max_position_embeddings=max_positions,
            rms_norm_eps=reader.positive("rms_norm_eps"),
            attention_bias=reader.flag("attention_bias", default=False),
            rope=_read_rope(reader, max_positions),
        )


def _check_layers(reader: ConfigReader) -> None:
    """Refuse other activations and layers than full attention."""
    reader.choice("hidden_act", ("silu",), "silu")
    if reader.flag("use_sliding_window", default=False):
        raise reader.error("use_sliding_window", "false")
    named = reader.get("layer_types")
    if named is not None and named != ["full_attention"] * reader.integer("num_hidden_layers"):
        raise reader.error("layer_types", "full_attention for every layer")


def _read_rope(reader: ConfigReader, max_positions: int) -> Rope:
    """The rotary parameters: the newer object, or the older keys. Only the default kind is served."""
    theta = reader.positive("rope_theta", 10000.0)
    for key in ("rope_parameters", "rope_scaling"):
        section = reader.section(key)
        if section is not None:
            rope = read_rope(section.values, key, theta=theta, max_positions=max_positions)
            if rope.yarn is not None:
                raise section.error("rope_type", "default")
            return rope
    return Rope(theta)


class Attention(nnx.Module):
    """Causal self-attention; each group of query heads shares a key-value head."""

    def __init__(self, config: Qwen3Config, *, rngs: nnx.Rngs) -> None:
        hidden, head_dim, bias = config.hidden_size, config.head_dim, config.attention_bias
        self.q_proj = Linear(hidden, config.num_attention_heads * head_dim, bias=bias, rngs=rngs)
        self.k_proj = Linear(hidden, config.num_key_value_heads * head_dim, bias=bias, rngs=rngs)
        self.v_proj = Linear(hidden, config.num_key_value_heads * head_dim, bias=bias, rngs=rngs)
        self.o_proj = Linear(config.num_attention_heads * head_dim, hidden, bias=bias, rngs=rngs)
        self.q_norm = RMSNorm(head_dim, eps=config.rms_norm_eps)
        self.k_norm = RMSNorm(head_dim, eps=config.rms_norm_eps)
        self.num_groups = config.num_key_value_heads
        self.head_dim = head_dim

    def __call__(
        self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"], table: RopeTable
    ) -> Float[jax.Array, "B T D"]:
        """Mix each token with those before it."""
        rows, width, _ = x.shape
        q, k, v = (
            project(x).reshape(rows, width, -1, self.head_dim) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(self.q_norm(q), table), rotate(self.k_norm(k), table)
        q = q.reshape(rows, width, self.num_groups, -1, self.head_dim).transpose(0, 2, 3, 1, 4)  # [B K G T H]
        mixed = full_attention(q, k.transpose(0, 2, 1, 3), v.transpose(0, 2, 1, 3), lengths, causal=True)
        return self.o_proj(mixed.transpose(0, 3, 1, 2, 4).reshape(rows, width, -1))


class Layer(nnx.Module):
    """x + Attn(norm(x)), then x + MLP(norm(x))."""

    def __init__(self, config: Qwen3Config, *, rngs: nnx.Rngs) -> None:
        self.input_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn = Attention(config, rngs=rngs)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = SwiGlu(config.hidden_size, config.intermediate_size, rngs=rngs)

    def __call__(
        self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"], table: RopeTable
    ) -> Float[jax.Array, "B T D"]:
        """One step of the residual stream."""
        x = x + self.self_attn(self.input_layernorm(x), lengths, table)
        return x + self.mlp(self.post_attention_layernorm(x))


class Qwen3(nnx.Module):
    """The decoder stack without output head. Attribute paths are the checkpoint's names."""

    def __init__(self, config: Qwen3Config, *, rngs: nnx.Rngs) -> None:
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size, rngs=rngs)
        self.layers = nnx.List([Layer(config, rngs=rngs) for _ in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

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
        table = rope_table(self.config.rope, ids.shape[1], self.config.head_dim)
        x = self.embed_tokens(ids)
        stream = {0: x}
        for i, layer in enumerate(self.layers[: max(exits)]):
            x = layer(x, lengths, table)
            stream[i + 1] = x
        return {k: self.norm(stream[k]) if k == depth or final_norm_exits else stream[k] for k in sorted(set(exits))}
