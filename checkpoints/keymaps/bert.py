"""Key map of BERT checkpoints (Vela 1.0 format, section 5): at the root (sentence-transformers) or under `bert.`."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_EMBEDDINGS: Final = ("backbone", "embeddings")
_LAYER: Final = ("backbone", "layers", "{i}")


def backbone_map(prefix: str) -> KeyMap:
    """The key map of a backbone whose keys begin with the pattern `prefix`."""
    layer = f"{prefix}encoder.layer.{{i}}"
    rules = (
        Rule(f"{prefix}embeddings.word_embeddings.weight", (*_EMBEDDINGS, "word_embeddings", "weight")),
        Rule(f"{prefix}embeddings.position_embeddings.weight", (*_EMBEDDINGS, "position_embeddings", "weight")),
        Rule(f"{prefix}embeddings.token_type_embeddings.weight", (*_EMBEDDINGS, "token_type_embeddings", "weight")),
        Rule(f"{prefix}embeddings.LayerNorm.weight", (*_EMBEDDINGS, "norm", "weight")),
        Rule(f"{prefix}embeddings.LayerNorm.bias", (*_EMBEDDINGS, "norm", "bias")),
        Rule(f"{layer}.attention.self.query.weight", (*_LAYER, "attention", "query", "weight")),
        Rule(f"{layer}.attention.self.query.bias", (*_LAYER, "attention", "query", "bias")),
        Rule(f"{layer}.attention.self.key.weight", (*_LAYER, "attention", "key", "weight")),
        Rule(f"{layer}.attention.self.key.bias", (*_LAYER, "attention", "key", "bias")),
        Rule(f"{layer}.attention.self.value.weight", (*_LAYER, "attention", "value", "weight")),
        Rule(f"{layer}.attention.self.value.bias", (*_LAYER, "attention", "value", "bias")),
        Rule(f"{layer}.attention.output.dense.weight", (*_LAYER, "attention", "output", "weight")),
        Rule(f"{layer}.attention.output.dense.bias", (*_LAYER, "attention", "output", "bias")),
        Rule(f"{layer}.attention.output.LayerNorm.weight", (*_LAYER, "attention_norm", "weight")),
        Rule(f"{layer}.attention.output.LayerNorm.bias", (*_LAYER, "attention_norm", "bias")),
        Rule(f"{layer}.intermediate.dense.weight", (*_LAYER, "mlp", "intermediate", "weight")),
        Rule(f"{layer}.intermediate.dense.bias", (*_LAYER, "mlp", "intermediate", "bias")),
        Rule(f"{layer}.output.dense.weight", (*_LAYER, "mlp", "output", "weight")),
        Rule(f"{layer}.output.dense.bias", (*_LAYER, "mlp", "output", "bias")),
        Rule(f"{layer}.output.LayerNorm.weight", (*_LAYER, "mlp_norm", "weight")),
        Rule(f"{layer}.output.LayerNorm.bias", (*_LAYER, "mlp_norm", "bias")),
    )
    unused = (
        f"{prefix}embeddings.position_ids",
        f"{prefix}pooler.dense.weight",
        f"{prefix}pooler.dense.bias",
    )
    return KeyMap(rules, ignored=unused)


BACKBONE: Final = backbone_map("[bert.]")
