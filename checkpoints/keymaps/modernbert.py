"""Key map of ModernBERT checkpoints (Vela 1.0 format, section 4.2): at the root, or under `model.` beside a head."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_LAYER: Final = ("backbone", "layers", "{i}")
_KEY: Final = "[model.]layers.{i}"

BACKBONE: Final = KeyMap(
    rules=(
        Rule("[model.]embeddings.tok_embeddings.weight", ("backbone", "embeddings", "tok_embeddings", "weight")),
        Rule("[model.]embeddings.norm.weight", ("backbone", "embeddings", "norm", "weight")),
        Rule("[model.]embeddings.norm.bias", ("backbone", "embeddings", "norm", "bias")),
        Rule(f"{_KEY}.attn_norm.weight", (*_LAYER, "attn_norm", "weight")),
        Rule(f"{_KEY}.attn_norm.bias", (*_LAYER, "attn_norm", "bias")),
        Rule(f"{_KEY}.attn.Wqkv.weight", (*_LAYER, "attn", "Wqkv", "weight")),
        Rule(f"{_KEY}.attn.Wqkv.bias", (*_LAYER, "attn", "Wqkv", "bias")),
        Rule(f"{_KEY}.attn.Wo.weight", (*_LAYER, "attn", "Wo", "weight")),
        Rule(f"{_KEY}.attn.Wo.bias", (*_LAYER, "attn", "Wo", "bias")),
        Rule(f"{_KEY}.mlp_norm.weight", (*_LAYER, "mlp_norm", "weight")),
        Rule(f"{_KEY}.mlp_norm.bias", (*_LAYER, "mlp_norm", "bias")),
        Rule(f"{_KEY}.mlp.Wi.weight", (*_LAYER, "mlp", "Wi", "weight")),
        Rule(f"{_KEY}.mlp.Wi.bias", (*_LAYER, "mlp", "Wi", "bias")),
        Rule(f"{_KEY}.mlp.Wo.weight", (*_LAYER, "mlp", "Wo", "weight")),
        Rule(f"{_KEY}.mlp.Wo.bias", (*_LAYER, "mlp", "Wo", "bias")),
        Rule("[model.]final_norm.weight", ("backbone", "final_norm", "weight")),
        Rule("[model.]final_norm.bias", ("backbone", "final_norm", "bias")),
    ),
)
