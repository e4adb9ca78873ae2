"""BERT: an encoder of post-normed layers with learned positions (Vela 1.0 format, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.backbones.backbone import check_exits
from vela_jax.layers.activations import ACTIVATIONS
from vela_jax.layers.attention import full_attention
from vela_jax.layers.config import ConfigReader
from vela_jax.layers.linear import Embedding, Linear
from vela_jax.layers.mlp import PlainMlp
from vela_jax.layers.norms import LayerNorm


@dataclass(frozen=True, slots=True)
class BertConfig:
    """The values of `config.json` that decide the network, by their own names."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float
    hidden_act: str

    @classmethod
    def from_package(cls, config: Mapping[str, Any]) -> BertConfig:
        """Read a parsed `config.json`. Raises ConfigError for what this backbone does not compute."""
        reader = ConfigReader(config)
        reader.choice("position_embedding_type", ("absolute",), "absolute")
        for key in ("is_decoder", "add_cross_attention"):
            if reader.flag(key, default=False):
                raise reader.error(key, "false: this backbone is an encoder")
        hidden, heads = reader.integer("hidden_size"), reader.integer("num_attention_heads")
        if hidden % heads:
            raise reader.error("hidden_size", f"a multiple of num_attention_heads ({heads})")
        return cls(
            vocab_size=reader.integer("vocab_size"),
            hidden_size=hidden,
            num_hidden_layers=reader.integer("num_hidden_layers"),
            num_attention_heads=heads,
            intermediate_size=reader.integer("intermediate_size"),
            max_position_embeddings=reader.integer("max_position_embeddings"),
            type_vocab_size=reader.integer("type_vocab_size"),
            layer_norm_eps=reader.positive("layer_norm_eps"),
            hidden_act=reader.choice("hidden_act", ACTIVATIONS, "gelu"),
        )


class Embeddings(nnx.Module):
    """Token, position and type vectors, added and normed; every token is of type 0."""

    def __init__(self, config: BertConfig, *, rngs: nnx.Rngs) -> None:
        hidden = config.hidden_size
        self.word_embeddings = Embedding(config.vocab_size, hidden, rngs=rngs)
        self.position_embeddings = Embedding(config.max_position_embeddings, hidden, rngs=rngs)
        self.token_type_embeddings = Embedding(config.type_vocab_size, hidden, rngs=rngs)
        self.norm = LayerNorm(hidden, eps=config.layer_norm_eps, bias=True)

    def __call__(self, ids: Int32[jax.Array, "B S"]) -> Float[jax.Array, "B S D"]:
        """The stack's input."""
        positions = self.position_embeddings.weight[...][: ids.shape[1]]
        tokens = self.word_embeddings(ids) + self.token_type_embeddings.weight[...][0][None, None]
        return self.norm(tokens + positions[None])


class Attention(nnx.Module):
    """Self-attention of one layer; every query sees every real key."""

    def __init__(self, config: BertConfig, *, rngs: nnx.Rngs) -> None:
        hidden = config.hidden_size
        self.query = Linear(hidden, hidden, bias=True, rngs=rngs)
        self.key = Linear(hidden, hidden, bias=True, rngs=rngs)
        self.value = Linear(hidden, hidden, bias=True, rngs=rngs)
        self.output = Linear(hidden, hidden, bias=True, rngs=rngs)
        self.num_heads = config.num_attention_heads

    def __call__(self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"]) -> Float[jax.Array, "B T D"]:
        """Mix the tokens of each row."""
        rows, width, hidden = x.shape
        q, k, v = (
            project(x).reshape(rows, width, self.num_heads, -1).transpose(0, 2, 1, 3)  # [B N T H]
            for project in (self.query, self.key, self.value)
        )
        mixed = full_attention(q[:, :, None], k, v, lengths)
        return self.output(mixed[:, :, 0].transpose(0, 2, 1, 3).reshape(rows, width, hidden))


class Layer(nnx.Module):
    """norm(x + Attn(x)), then norm(x + MLP(x))."""

    def __init__(self, config: BertConfig, *, rngs: nnx.Rngs) -> None:
        hidden, eps = config.hidden_size, config.layer_norm_eps
        self.attention = Attention(config, rngs=rngs)
        self.attention_norm = LayerNorm(hidden, eps=eps, bias=True)
        self.mlp = PlainMlp(hidden, config.intermediate_size, activation=config.hidden_act, rngs=rngs)
        self.mlp_norm = LayerNorm(hidden, eps=eps, bias=True)

    def __call__(self, x: Float[jax.Array, "B T D"], lengths: Int32[jax.Array, " B"]) -> Float[jax.Array, "B T D"]:
        """One step of the stack."""
        x = self.attention_norm(self.attention(x, lengths) + x)
        return self.mlp_norm(self.mlp(x) + x)


class Bert(nnx.Module):
    """The encoder, without pooler."""

    def __init__(self, config: BertConfig, *, rngs: nnx.Rngs) -> None:
        self.config = config
        self.embeddings = Embeddings(config, rngs=rngs)
        self.layers = nnx.List([Layer(config, rngs=rngs) for _ in range(config.num_hidden_layers)])

    def __call__(
        self,
        ids: Int32[jax.Array, "B S"],
        lengths: Int32[jax.Array, " B"],
        exits: tuple[int, ...],
        *,
        final_norm_exits: bool = False,  # noqa: ARG002 - of the protocol; every layer's output is normed already
    ) -> dict[int, Float[jax.Array, "B S D"]]:
        """Hidden states at `exits`, as `Backbone` says. Raises ValueError for rows longer than the position table."""
        check_exits(exits, self.config.num_hidden_layers)
        if ids.shape[1] > self.config.max_position_embeddings:
            raise ValueError(f"rows hold at most {self.config.max_position_embeddings} tokens; found {ids.shape[1]}")
        x = self.embeddings(ids)
        stream = {0: x}
        for i, layer in enumerate(self.layers[: max(exits)]):
            x = layer(x, lengths)
            stream[i + 1] = x
        return {k: stream[k] for k in sorted(set(exits))}
