"""Key map of BERT checkpoints (Vela 1.0 format, section 5): at the root (sentence-transformers) or under `bert.`."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_EMBEDDINGS: Final = ("backbone", "embeddings")
_LAYER: Final = ("backbone", "layers", "{i}")
_KEY: Final = "[bert.]encoder.layer.{i}"

BACKBONE: Final = KeyMap(
    rules=(
        Rule("[bert.]embeddings.word_embeddings.weight", (*_EMBEDDINGS, "word_embeddings", "weight")),
        Rule("[bert.]embeddings.position_embeddings.weight", (*_EMBEDDINGS, "position_embeddings", "weight")),
        Rule("[bert.]embeddings.token_type_embeddings.weight", (*_EMBEDDINGS, "token_type_embeddings", "weight")),
        Rule("[bert.]embeddings.LayerNorm.weight", (*_EMBEDDINGS, "norm", "weight")),
        Rule("[bert.]embeddings.LayerNorm.bias", (*_EMBEDDINGS, "norm", "bias")),
        Rule(f"{_KEY}.attention.self.query.weight", (*_LAYER, "attention", "query", "weight")),
        Rule(f"{_KEY}.attention.self.query.bias", (*_LAYER, "attention", "query", "bias")),
        Rule(f"{_KEY}.attention.self.key.weight", (*_LAYER, "attention", "key", "weight")),
        Rule(f"{_KEY}.attention.self.key.bias", (*_LAYER, "attention", "key", "bias")),
        Rule(f"{_KEY}.attention.self.value.weight", (*_LAYER, "attention", "value", "weight")),
        Rule(f"{_KEY}.attention.self.value.bias", (*_LAYER, "attention", "value", "bias")),
        Rule(f"{_KEY}.attention.output.dense.weight", (*_LAYER, "attention", "output", "weight")),
        Rule(f"{_KEY}.attention.output.dense.bias", (*_LAYER, "attention", "output", "bias")),
        Rule(f"{_KEY}.attention.output.LayerNorm.weight", (*_LAYER, "attention_norm", "weight")),
        Rule(f"{_KEY}.attention.output.LayerNorm.bias", (*_LAYER, "attention_norm", "bias")),
        Rule(f"{_KEY}.intermediate.dense.weight", (*_LAYER, "mlp", "intermediate", "weight")),
        Rule(f"{_KEY}.intermediate.dense.bias", (*_LAYER, "mlp", "intermediate", "bias")),
        Rule(f"{_KEY}.output.dense.weight", (*_LAYER, "mlp", "output", "weight")),
        Rule(f"{_KEY}.output.dense.bias", (*_LAYER, "mlp", "output", "bias")),
        Rule(f"{_KEY}.output.LayerNorm.weight", (*_LAYER, "mlp_norm", "weight")),
        Rule(f"{_KEY}.output.LayerNorm.bias", (*_LAYER, "mlp_norm", "bias")),
    ),
    ignored=(
        "[bert.]embeddings.position_ids",
        "[bert.]pooler.dense.weight",
        "[bert.]pooler.dense.bias",
    ),
)
