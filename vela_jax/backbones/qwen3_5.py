"""Qwen3.5, text: a causal decoder of gated delta-net and gated attention layers (Vela 2.0 format, section 11).

Besides plain rows it reads a tree: a prefix once, then branches that each continue it. A branch's hidden states are
those of the plain row of prefix and branch, and do not depend on the other branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxtyping import Float, Int32

from vela_jax.backbones.backbone import check_exits
from vela_jax.layers.activations import silu
from vela_jax.layers.attention import full_attention, real_tokens
from vela_jax.layers.branches import branch_attention
from vela_jax.layers.config import ConfigReader
from vela_jax.layers.convolution import ShortConvolution
from vela_jax.layers.delta import gated_delta_rule
from vela_jax.layers.linear import Embedding, Linear
from vela_jax.layers.mlp import SwiGlu
from vela_jax.layers.rotary import Rope, RopeTable, rope_table, rotate

LINEAR: Final = "linear_attention"
FULL: Final = "full_attention"


@dataclass(frozen=True, slots=True)
class Qwen35Config:
    """The values of `config.json` that decide the network, by their own names; `rotary_width` channels are rotated."""

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
    layer_types: tuple[str, ...]
    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int
    rope: Rope
    rotary_width: int

    @property
    def key_width(self) -> int:
        """Channels of all delta-net keys of a token."""
        return self.linear_num_key_heads * self.linear_key_head_dim

    @property
    def value_width(self) -> int:
        """Channels of all delta-net values of a token."""
        return self.linear_num_value_heads * self.linear_value_head_dim

    @classmethod
    def from_package(cls, config: Mapping[str, Any]) -> Qwen35Config:
        """Read a parsed text config. Raises ConfigError for what this backbone does not compute."""
        reader = ConfigReader(config)
        reader.choice("hidden_act", ("silu",), "silu")
        if not reader.flag("attn_output_gate", default=True):
            raise reader.error("attn_output_gate", "true")
        if reader.get("attention_mode") is not None:
            raise reader.error("attention_mode", "absent")
        heads, layers = reader.integer("num_attention_heads"), reader.integer("num_hidden_layers")
        head_dim = reader.integer("head_dim", max(1, reader.integer("hidden_size") // heads))
        rope, rotary_width = _read_rope(reader, head_dim)
        return cls(
            vocab_size=reader.integer("vocab_size"),
            hidden_size=reader.integer("hidden_size"),
            intermediate_size=reader.integer("intermediate_size"),
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=_divisor(reader, "num_key_value_heads", "num_attention_heads"),
            head_dim=head_dim,
            max_position_embeddings=reader.integer("max_position_embeddings"),
            rms_norm_eps=reader.positive("rms_norm_eps", 1e-6),
            attention_bias=reader.flag("attention_bias", default=False),
            layer_types=_read_layers(reader, layers),
            linear_num_key_heads=_divisor(reader, "linear_num_key_heads", "linear_num_value_heads"),
            linear_num_value_heads=reader.integer("linear_num_value_heads"),
            linear_key_head_dim=reader.integer("linear_key_head_dim"),
            linear_value_head_dim=reader.integer("linear_value_head_dim"),
            linear_conv_kernel_dim=reader.integer("linear_conv_kernel_dim", minimum=2),
            rope=rope,
            rotary_width=rotary_width,
        )


def _divisor(reader: ConfigReader, key: str, of: str) -> int:
    value, whole = reader.integer(key), reader.integer(of)
    if whole % value:
        raise reader.error(key, f"a divisor of {of} ({whole})")
    return value


def _read_layers(reader: ConfigReader, count: int) -> tuple[str, ...]:
    named = reader.get("layer_types")
    if not isinstance(named, list) or len(named) != count or any(kind not in (LINEAR, FULL) for kind in named):
        raise reader.error("layer_types", f"a list of {count} entries, each {LINEAR} or {FULL}")
    return tuple(named)


def _read_rope(reader: ConfigReader, head_dim: int) -> tuple[Rope, int]:
    """The rotary parameters, and how many channels of a head are rotated."""
    section = reader.section("rope_parameters")
    if section is None:
        raise reader.error("rope_parameters", "an object")
    section.choice("rope_type", ("default",), "default")
    partial = section.positive("partial_rotary_factor", 1.0)
    width = int(head_dim * partial)
    if partial > 1 or width < 2 or width % 2:
        raise section.error("partial_rotary_factor", f"a share of head_dim ({head_dim}) that gives an even width")
    return Rope(section.positive("rope_theta")), width


class DeltaEnd(NamedTuple):
    """What a continuation needs of a delta-net layer: the state, and the last inputs of the convolution."""

    state: Float[jax.Array, "B N H V"]
    tail: Float[jax.Array, "B R C"]


class KeysValues(NamedTuple):
    """What a continuation needs of an attention layer: rotated keys, and values."""

    k: Float[jax.Array, "B K S H"]
    v: Float[jax.Array, "B K S H"]


class Prefix(NamedTuple):
    """A read prefix, one row: its tokens, and what each layer hands over."""

    length: Int32[jax.Array, ""]
    layers: tuple[DeltaEnd | KeysValues, ...]


class ZeroCenteredNorm(nnx.Module):
    """x / sqrt(mean of squares + eps) * (1 + weight)."""

    def __init__(self, features: int, *, eps: float) -> None:
        self.weight = nnx.Param(jnp.zeros((features,), jnp.float32))
        self.eps = eps

    def __call__(self, x: Float[jax.Array, "*tokens D"]) -> Float[jax.Array, "*tokens D"]:
        """Normalize each vector by itself."""
        return (_normalized(x, self.eps) * (1.0 + self.weight[...])[None, :]).reshape(x.shape)


class GatedNorm(nnx.Module):
    """x / sqrt(mean of squares + eps) * weight * silu(gate)."""

    def __init__(self, features: int, *, eps: float) -> None:
        self.weight = nnx.Param(jnp.ones((features,), jnp.float32))
        self.eps = eps

    def __call__(
        self, x: Float[jax.Array, "*tokens D"], gate: Float[jax.Array, "*tokens D"]
    ) -> Float[jax.Array, "*tokens D"]:
        """Normalize each vector by itself, then let the gate pass it."""
        normed = _normalized(x, self.eps) * self.weight[...][None, :]
        return normed.reshape(x.shape) * silu(gate)


def _normalized(x: jax.Array, eps: float) -> jax.Array:
    """Vectors [M D] of root mean square 1."""
    tokens = x.reshape(-1, x.shape[-1])
    return tokens * lax.rsqrt(jnp.mean(jnp.square(tokens), axis=-1, keepdims=True) + eps)


class GatedDeltaNet(nnx.Module):
    """The gated delta rule over convolved projections; groups of value heads share a key head."""

    def __init__(self, config: Qwen35Config, *, rngs: nnx.Rngs) -> None:
        hidden, heads = config.hidden_size, config.linear_num_value_heads
        channels = 2 * config.key_width + config.value_width
        self.in_proj_qkv = Linear(hidden, channels, bias=False, rngs=rngs)
        self.in_proj_z = Linear(hidden, config.value_width, bias=False, rngs=rngs)
        self.in_proj_b = Linear(hidden, heads, bias=False, rngs=rngs)
        self.in_proj_a = Linear(hidden, heads, bias=False, rngs=rngs)
        self.conv1d = ShortConvolution(channels, config.linear_conv_kernel_dim, rngs=rngs)
        self.dt_bias = nnx.Param(jnp.ones((heads,), jnp.float32))
        self.A_log = nnx.Param(jnp.zeros((heads,), jnp.float32))
        self.norm = GatedNorm(config.linear_value_head_dim, eps=config.rms_norm_eps)
        self.out_proj = Linear(config.value_width, hidden, bias=False, rngs=rngs)
        self.config = config

    def __call__(
        self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"], before: DeltaEnd | None
    ) -> tuple[Float[jax.Array, "B T D"], DeltaEnd]:
        """Mix each token with those before it, and with what `before` remembers; padding moves nothing."""
        config = self.config
        rows, width, _ = x.shape
        real = real_tokens(lengths, width)[:, :, None]
        x = jnp.where(real, x, 0.0)
        u = self.in_proj_qkv(x)
        start = before if before is not None else self._nothing(u)
        mixed = silu(self.conv1d(u, start.tail))
        q, k, v = (
            part.reshape(rows, width, -1, features)
            for part, features in zip(
                jnp.split(mixed, (config.key_width, 2 * config.key_width), axis=-1),
                (config.linear_key_head_dim, config.linear_key_head_dim, config.linear_value_head_dim),
                strict=True,
            )
        )
        shared = config.linear_num_value_heads // config.linear_num_key_heads
        q, k = (jnp.repeat(each, shared, axis=2) for each in (q, k))
        beta = jnp.where(real, lax.logistic(self.in_proj_b(x)), 0.0)
        rate = jax.nn.softplus(self.in_proj_a(x) + self.dt_bias[...][None, None, :])
        decay = jnp.where(real, -jnp.exp(self.A_log[...])[None, None, :] * rate, 0.0)
        out, state = gated_delta_rule(q, k, v, decay, beta, start.state)
        gated = self.norm(out, self.in_proj_z(x).reshape(out.shape))
        end = DeltaEnd(state, self.conv1d.tail(u, start.tail, lengths))
        return self.out_proj(gated.reshape(rows, width, -1)), end

    def _nothing(self, u: jax.Array) -> DeltaEnd:
        config = self.config
        heads, features = config.linear_num_value_heads, config.linear_value_head_dim
        state = jnp.zeros((u.shape[0], heads, config.linear_key_head_dim, features), u.dtype)
        return DeltaEnd(state, self.conv1d.nothing(u))


class GatedAttention(nnx.Module):
    """Causal self-attention whose output passes a gate; part of each head is rotated, groups share a key-value head."""

    def __init__(self, config: Qwen35Config, *, rngs: nnx.Rngs) -> None:
        hidden, head_dim, bias = config.hidden_size, config.head_dim, config.attention_bias
        self.q_proj = Linear(hidden, 2 * config.num_attention_heads * head_dim, bias=bias, rngs=rngs)
        self.k_proj = Linear(hidden, config.num_key_value_heads * head_dim, bias=bias, rngs=rngs)
        self.v_proj = Linear(hidden, config.num_key_value_heads * head_dim, bias=bias, rngs=rngs)
        self.o_proj = Linear(config.num_attention_heads * head_dim, hidden, bias=bias, rngs=rngs)
        self.q_norm = ZeroCenteredNorm(head_dim, eps=config.rms_norm_eps)
        self.k_norm = ZeroCenteredNorm(head_dim, eps=config.rms_norm_eps)
        self.num_groups = config.num_key_value_heads
        self.head_dim = head_dim
        self.rotary_width = config.rotary_width

    def __call__(
        self,
        x: Float[jax.Array, "B T D"],
        lengths: Int32[jax.Array, " B"],
        table: RopeTable,
        before: tuple[KeysValues, jax.Array] | None,
    ) -> tuple[Float[jax.Array, "B T D"], KeysValues]:
        """Mix each token with those before it, and with the keys and values of a prefix of so many tokens."""
        rows, width, _ = x.shape
        both = self.q_proj(x).reshape(rows, width, -1, 2 * self.head_dim)
        q, gate = both[..., : self.head_dim], both[..., self.head_dim :]
        k, v = (project(x).reshape(rows, width, -1, self.head_dim) for project in (self.k_proj, self.v_proj))
        q, k = self._rotate(self.q_norm(q), table), self._rotate(self.k_norm(k), table)
        q = q.reshape(rows, width, self.num_groups, -1, self.head_dim).transpose(0, 2, 3, 1, 4)  # [B K G T H]
        own = KeysValues(k.transpose(0, 2, 1, 3), v.transpose(0, 2, 1, 3))
        if before is None:
            mixed = full_attention(q, own.k, own.v, lengths, causal=True)
        else:
            prefix, length = before
            mixed = branch_attention(q, own.k, own.v, prefix.k[0], prefix.v[0], length)
        mixed = mixed.transpose(0, 3, 1, 2, 4).reshape(gate.shape) * lax.logistic(gate)
        return self.o_proj(mixed.reshape(rows, width, -1)), own

    def _rotate(self, x: jax.Array, table: RopeTable) -> jax.Array:
        turned = rotate(x[..., : self.rotary_width], table)
        return jnp.concatenate([turned, x[..., self.rotary_width :]], axis=-1)


class Layer(nnx.Module):
    """x + mixer(norm(x)), then x + MLP(norm(x)). The mixer that the layer does not have is None."""

    def __init__(self, config: Qwen35Config, kind: str, *, rngs: nnx.Rngs) -> None:
        self.input_layernorm = ZeroCenteredNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.linear_attn = GatedDeltaNet(config, rngs=rngs) if kind == LINEAR else None
        self.self_attn = GatedAttention(config, rngs=rngs) if kind == FULL else None
        self.post_attention_layernorm = ZeroCenteredNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = SwiGlu(config.hidden_size, config.intermediate_size, rngs=rngs)

    def __call__(
        self,
        x: Float[jax.Array, "B T D"],
        lengths: Int32[jax.Array, " B"],
        table: RopeTable,
        before: tuple[DeltaEnd | KeysValues, jax.Array] | None = None,
    ) -> tuple[Float[jax.Array, "B T D"], DeltaEnd | KeysValues]:
        """One step of the residual stream, and what the layer hands over; `before` holds what a prefix handed over."""
        normed = self.input_layernorm(x)
        end: DeltaEnd | KeysValues
        if self.linear_attn is not None:
            mixed, end = self.linear_attn(normed, lengths, _delta_start(before, x.shape[0]))
        else:
            assert self.self_attn is not None
            mixed, end = self.self_attn(normed, lengths, table, _keys_start(before))
        x = x + mixed
        return x + self.mlp(self.post_attention_layernorm(x)), end


def _delta_start(before: tuple[DeltaEnd | KeysValues, jax.Array] | None, rows: int) -> DeltaEnd | None:
    """A copy of the prefix's end for each branch."""
    if before is None:
        return None
    assert isinstance(before[0], DeltaEnd)
    state, tail = (jnp.broadcast_to(each, (rows, *each.shape[1:])) for each in before[0])
    return DeltaEnd(state, tail)


def _keys_start(before: tuple[DeltaEnd | KeysValues, jax.Array] | None) -> tuple[KeysValues, jax.Array] | None:
    if before is None:
        return None
    assert isinstance(before[0], KeysValues)
    return before[0], before[1]


def _with_room(end: DeltaEnd | KeysValues, room: int) -> DeltaEnd | KeysValues:
    """Keys and values padded to `room` tokens."""
    if isinstance(end, DeltaEnd):
        return end
    padding = ((0, 0), (0, 0), (0, room - end.k.shape[2]), (0, 0))
    return KeysValues(jnp.pad(end.k, padding), jnp.pad(end.v, padding))


class Qwen35(nnx.Module):
    """The decoder stack without output head. Attribute paths are the checkpoint's names."""

    def __init__(self, config: Qwen35Config, *, rngs: nnx.Rngs) -> None:
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size, rngs=rngs)
        self.layers = nnx.List([Layer(config, kind, rngs=rngs) for kind in config.layer_types])
        self.norm = ZeroCenteredNorm(config.hidden_size, eps=config.rms_norm_eps)

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
        table = self._table(ids.shape[1])
        x = self.embed_tokens(ids)
        stream = {0: x}
        for i, layer in enumerate(self.layers[: max(exits)]):
            x, _ = layer(x, lengths, table)
            stream[i + 1] = x
        return {k: self.norm(stream[k]) if k == depth or final_norm_exits else stream[k] for k in sorted(set(exits))}

    def read_prefix(self, ids: Int32[jax.Array, "1 S"], lengths: Int32[jax.Array, " 1"], room: int) -> Prefix:
        """Read the prefix of a tree: one row, padded at its end.

        Keys and values get room for `room` tokens, so that branches of one shape continue prefixes of many lengths.
        """
        table = self._table(ids.shape[1])
        x = self.embed_tokens(ids)
        ends = []
        for layer in self.layers:
            x, end = layer(x, lengths, table)
            ends.append(_with_room(end, room))
        return Prefix(lengths[0], tuple(ends))

    def read_branches(
        self, prefix: Prefix, ids: Int32[jax.Array, "B T"], lengths: Int32[jax.Array, " B"]
    ) -> Float[jax.Array, "B T D"]:
        """Final hidden states of branches that each continue the prefix."""
        table = self._table_after(prefix, ids.shape[1])
        x = self.embed_tokens(ids)
        for layer, end in zip(self.layers, prefix.layers, strict=True):
            x, _ = layer(x, lengths, table, (end, prefix.length))
        return self.norm(x)

    def _table(self, length: int) -> RopeTable:
        return rope_table(self.config.rope, length, self.config.rotary_width)

    def _table_after(self, prefix: Prefix, length: int) -> RopeTable:
        """The rows of the table from the prefix's end on."""
        width = max((end.k.shape[2] for end in prefix.layers if isinstance(end, KeysValues)), default=0)
        whole = self._table(width + length)
        cos, sin = (lax.dynamic_slice_in_dim(jnp.asarray(each), prefix.length, length, axis=0) for each in whole)
        return RopeTable(cos, sin)
