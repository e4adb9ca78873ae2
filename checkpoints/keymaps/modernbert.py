"""Key map of ModernBERT checkpoints (Vela 1.0 format, section 4.2): at the root, or under `model.` beside a head."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_LAYER: Final = ("backbone", "layers", "{i}")


def backbone_map(prefix: str) -> KeyMap:
    """The key map of a backbone whose keys begin with the pattern `prefix`."""
    rules = (
        Rule(f"{prefix}embeddings.tok_embeddings.weight", ("backbone", "embeddings", "tok_embeddings", "weight")),
        Rule(f"{prefix}embeddings.norm.weight", ("backbone", "embeddings", "norm", "weight")),
        Rule(f"{prefix}embeddings.norm.bias", ("backbone", "embeddings", "norm", "bias")),
        Rule(f"{prefix}layers.{{i}}.attn_norm.weight", (*_LAYER, "attn_norm", "weight")),
        Rule(f"{prefix}layers.{{i}}.attn_norm.bias", (*_LAYER, "attn_norm", "bias")),
        Rule(f"{prefix}layers.{{i}}.attn.Wqkv.weight", (*_LAYER, "attn", "Wqkv", "weight")),
        Rule(f"{prefix}layers.{{i}}.attn.Wqkv.bias", (*_LAYER, "attn", "Wqkv", "bias")),
        Rule(f"{prefix}layers.{{i}}.attn.Wo.weight", (*_LAYER, "attn", "Wo", "weight")),
        Rule(f"{prefix}layers.{{i}}.attn.Wo.bias", (*_LAYER, "attn", "Wo", "bias")),
        Rule(f"{prefix}layers.{{i}}.mlp_norm.weight", (*_LAYER, "mlp_norm", "weight")),
        Rule(f"{prefix}layers.{{i}}.mlp_norm.bias", (*_LAYER, "mlp_norm", "bias")),
        Rule(f"{prefix}layers.{{i}}.mlp.Wi.weight", (*_LAYER, "mlp", "Wi", "weight")),
        Rule(f"{prefix}layers.{{i}}.mlp.Wi.bias", (*_LAYER, "mlp", "Wi", "bias")),
        Rule(f"{prefix}layers.{{i}}.mlp.Wo.weight", (*_LAYER, "mlp", "Wo", "weight")),
        Rule(f"{prefix}layers.{{i}}.mlp.Wo.bias", (*_LAYER, "mlp", "Wo", "bias")),
        Rule(f"{prefix}final_norm.weight", ("backbone", "final_norm", "weight")),
        Rule(f"{prefix}final_norm.bias", ("backbone", "final_norm", "bias")),
    )
    return KeyMap(rules)


BACKBONE: Final = backbone_map("[model.]")
