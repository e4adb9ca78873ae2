"""Decoders that generate text, Qwen3 and Llama: one stack, run a page of one prompt or a token of many rows at a time.

The tokens of a step are computed as rows of one token each, or as one row of many; what a row gives does not depend on
the rows beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.backbones.qwen3 import Qwen3Config
from vela_jax.layers.config import ConfigError, ConfigReader
from vela_jax.layers.linear import Embedding, Linear, token_product
from vela_jax.layers.mlp import SwiGlu
from vela_jax.layers.norms import RMSNorm
from vela_jax.layers.paged_attention import PAGE, PagedKeys, paged_attention, write_page, write_tokens
from vela_jax.layers.rotary import Rope, RopeTable, read_rope, rotate

ARCHITECTURES: Final[Mapping[str, str]] = {"qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM"}
"""The architecture that a package of each `model_type` names."""

Caches = list[PagedKeys]  # one a layer


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """The values of `config.json` that decide the network; `head_norms` tells Qwen3 from Llama."""

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
    head_norms: bool
    tie_word_embeddings: bool

    @classmethod
    def from_package(cls, config: Mapping[str, Any]) -> DecoderConfig:
        """Read a parsed `config.json`. Raises ConfigError for what this backbone does not compute."""
        kind = config.get("model_type")
        reader = ConfigReader(config)
        if kind not in ARCHITECTURES:
            raise ConfigError(f"config.json: model_type must be one of {', '.join(ARCHITECTURES)}; found {kind!r}")
        if kind == "llama":
            reader = _check_llama(reader)
        # The members of both kinds are those of Qwen3, and so are their bounds.
        base = Qwen3Config.from_package(reader.values)
        return cls(
            vocab_size=base.vocab_size,
            hidden_size=base.hidden_size,
            intermediate_size=base.intermediate_size,
            num_hidden_layers=base.num_hidden_layers,
            num_attention_heads=base.num_attention_heads,
            num_key_value_heads=base.num_key_value_heads,
            head_dim=base.head_dim,
            max_position_embeddings=base.max_position_embeddings,
            rms_norm_eps=base.rms_norm_eps,
            attention_bias=base.attention_bias,
            rope=_llama_rope(reader) if kind == "llama" else base.rope,
            head_norms=kind == "qwen3",
            tie_word_embeddings=reader.flag("tie_word_embeddings", default=False),
        )

    @property
    def page_bytes(self) -> int:
        """Bytes of one page of the cache, all layers."""
        return 2 * self.num_hidden_layers * self.num_key_value_heads * PAGE * self.head_dim * 4


def _check_llama(reader: ConfigReader) -> ConfigReader:
    """Refuse what Llama packages may ask for and is not computed; put in the members that older ones leave out."""
    if reader.flag("mlp_bias", default=False):
        raise reader.error("mlp_bias", "false")
    heads = reader.integer("num_attention_heads")
    given = {key: value for key, value in reader.values.items() if value is not None}
    defaults = {"num_key_value_heads": heads, "rms_norm_eps": 1e-6, "max_position_embeddings": 2048}
    return ConfigReader({**defaults, **given})


def _llama_rope(reader: ConfigReader) -> Rope:
    theta = reader.positive("rope_theta", 10000.0)
    section = reader.section("rope_parameters") or reader.section("rope_scaling")
    if section is None:
        return Rope(theta)
    return read_rope(
        section.values, section.where, theta=theta, max_positions=reader.integer("max_position_embeddings")
    )


class Step(NamedTuple):
    """Where the tokens of a step stand.

    `cos` and `sin` are [M H/2], a line a token. `tables` [B P] lists each row's pages, `seen` [B T'] says how many keys
    each query sees, `pages` how many pages are read. One row of many tokens fills the page `targets`; rows of one token
    fill `places` of the pages `targets` [B].
    """

    cos: Float[jax.Array, "M H/2"]
    sin: Float[jax.Array, "M H/2"]
    tables: Int32[jax.Array, "B P"]
    seen: Int32[jax.Array, "B Q"]
    pages: Int32[jax.Array, ""]
    targets: Int32[jax.Array, "*rows"]
    places: Int32[jax.Array, " B"] | None


class CachedAttention(nnx.Module):
    """Causal self-attention over the pages of each row; each group of query heads shares a key-value head."""

    def __init__(self, config: DecoderConfig, *, rngs: nnx.Rngs) -> None:
        hidden, width, bias = config.hidden_size, config.head_dim, config.attention_bias
        self.q_proj = Linear(hidden, config.num_attention_heads * width, bias=bias, rngs=rngs)
        self.k_proj = Linear(hidden, config.num_key_value_heads * width, bias=bias, rngs=rngs)
        self.v_proj = Linear(hidden, config.num_key_value_heads * width, bias=bias, rngs=rngs)
        self.o_proj = Linear(config.num_attention_heads * width, hidden, bias=bias, rngs=rngs)
        self.q_norm = RMSNorm(width, eps=config.rms_norm_eps) if config.head_norms else None
        self.k_norm = RMSNorm(width, eps=config.rms_norm_eps) if config.head_norms else None
        self.num_groups = config.num_key_value_heads
        self.head_dim = width

    def __call__(
        self, x: Float[jax.Array, "B T D"], cache: PagedKeys, step: Step
    ) -> tuple[Float[jax.Array, "B T D"], PagedKeys]:
        """Mix each token with those before it; gives the cache with the step's keys too."""
        rows, width, _ = x.shape
        tokens = rows * width
        q, k, v = (
            project(x).reshape(1, tokens, -1, self.head_dim) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        table = RopeTable(step.cos, step.sin)
        q, k, v = rotate(q, table)[0], rotate(k, table)[0], v[0]  # [M N H]
        if step.places is None:
            cache = write_page(cache, step.targets, k, v)
        else:
            cache = write_tokens(cache, step.targets, step.places, k, v)
        q = q.reshape(rows, width, self.num_groups, -1, self.head_dim).transpose(0, 2, 3, 1, 4)  # [B K G T H]
        group = q.shape[2]
        mixed = paged_attention(
            q.reshape(rows, self.num_groups, group * width, self.head_dim), cache, step.tables, step.seen, step.pages
        )
        mixed = mixed.reshape(rows, self.num_groups, group, width, self.head_dim).transpose(0, 3, 1, 2, 4)
        return self.o_proj(mixed.reshape(rows, width, -1)), cache


class DecoderLayer(nnx.Module):
    """x + Attn(norm(x)), then x + MLP(norm(x))."""

    def __init__(self, config: DecoderConfig, *, rngs: nnx.Rngs) -> None:
        self.input_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn = CachedAttention(config, rngs=rngs)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = SwiGlu(config.hidden_size, config.intermediate_size, rngs=rngs)

    def __call__(
        self, x: Float[jax.Array, "B T D"], cache: PagedKeys, step: Step
    ) -> tuple[Float[jax.Array, "B T D"], PagedKeys]:
        """One step of the residual stream."""
        mixed, cache = self.self_attn(self.input_layernorm(x), cache, step)
        x = x + mixed
        return x + self.mlp(self.post_attention_layernorm(x)), cache


class DecoderStack(nnx.Module):
    """Token table, layers and final norm. Attribute paths are the checkpoint's names."""

    def __init__(self, config: DecoderConfig, *, rngs: nnx.Rngs) -> None:
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size, rngs=rngs)
        self.layers = nnx.List([DecoderLayer(config, rngs=rngs) for _ in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def __call__(
        self, ids: Int32[jax.Array, "B T"], caches: Caches, step: Step
    ) -> tuple[Float[jax.Array, "B T D"], Caches]:
        """Final hidden states of a step's tokens, and the caches with their keys."""
        x = self.embed_tokens(ids)
        filled = []
        for layer, cache in zip(self.layers, caches, strict=True):
            x, cache = layer(x, cache, step)
            filled.append(cache)
        return self.norm(x), filled


class CausalLM(nnx.Module):
    """A decoder with its output head, which is the token table where the two are tied."""

    def __init__(self, config: DecoderConfig, *, rngs: nnx.Rngs) -> None:
        self.backbone = DecoderStack(config, rngs=rngs)
        tied = config.tie_word_embeddings
        self.lm_head = None if tied else Linear(config.hidden_size, config.vocab_size, bias=False, rngs=rngs)

    def logits(self, x: Float[jax.Array, "B T D"]) -> Float[jax.Array, "M V"]:
        """Raw logits of final hidden states, tokens flattened."""
        head = self.backbone.embed_tokens if self.lm_head is None else self.lm_head
        return token_product(x, head.weight[...])

    def prefill(
        self,
        caches: Caches,
        rope: RopeTable,
        ids: Int32[jax.Array, " T"],
        span: Int32[jax.Array, " 2"],
        table: Int32[jax.Array, " P"],
    ) -> tuple[Float[jax.Array, "T D"], Int32[jax.Array, ""], Float[jax.Array, " V"], Caches]:
        """Run up to a page of one prompt. `span` is the place of its first token, a multiple of PAGE, and its length.

        Gives the tokens' final hidden states, the most probable next token, the logits behind the last token, and the
        caches. Where logits are not finite the token is -1.
        """
        start, length = span[0], span[1]
        width = ids.shape[0]
        places = start + jnp.arange(width, dtype=jnp.int32)
        page = start // PAGE
        step = Step(
            cos=jnp.take(rope.cos, places, axis=0, mode="clip"),
            sin=jnp.take(rope.sin, places, axis=0, mode="clip"),
            tables=table[None],
            seen=jnp.tile(jnp.minimum(places, start + length - 1) + 1, self._group)[None],
            pages=page + 1,
            targets=jnp.take(table, page),
            places=None,
        )
        x, caches = self.backbone(ids[None], caches, step)
        last = jax.lax.dynamic_slice_in_dim(x, length - 1, 1, axis=1)
        logits = self.logits(jnp.concatenate([last, jnp.zeros_like(last)]))[:1]
        return x[0], _best(logits)[0], logits[0], caches

    def decode(
        self,
        caches: Caches,
        rope: RopeTable,
        ids: Int32[jax.Array, " B"],
        places: Int32[jax.Array, " B"],
        tables: Int32[jax.Array, "B P"],
    ) -> tuple[Int32[jax.Array, " B"], tuple[Float[jax.Array, " V"], ...], Caches]:
        """Run one token of each row, which stands at `places`; an empty row has a table of zeros.

        Gives the most probable next token of each row (-1 where its logits are not finite), the logits of each row, and
        the caches.
        """
        step = Step(
            cos=jnp.take(rope.cos, places, axis=0, mode="clip"),
            sin=jnp.take(rope.sin, places, axis=0, mode="clip"),
            tables=tables,
            seen=jnp.repeat(places[:, None] + 1, self._group, axis=1),
            pages=jnp.max(places) // PAGE + 1,
            targets=jnp.take_along_axis(tables, (places // PAGE)[:, None], axis=1)[:, 0],
            places=places % PAGE,
        )
        x, caches = self.backbone(ids[:, None], caches, step)
        logits = self.logits(x)
        return _best(logits), tuple(logits), caches

    @property
    def _group(self) -> int:
        config = self.backbone.config
        return config.num_attention_heads // config.num_key_value_heads


def _best(logits: Float[jax.Array, "M V"]) -> Int32[jax.Array, " M"]:
    """The most probable token of each row, -1 where a row is broken."""
    sound = jnp.isfinite(jnp.sum(logits, axis=-1))
    return jnp.where(sound, jnp.argmax(logits, axis=-1), -1).astype(jnp.int32)
