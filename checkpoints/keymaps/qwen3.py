"""Key map of dense Qwen3 checkpoints (decision models, section 9.1): at the root, or under `model.`."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_LAYER: Final = ("backbone", "layers", "{i}")
_KEY: Final = "[model.]layers.{i}"

BACKBONE: Final = KeyMap(
    rules=(
        Rule("[model.]embed_tokens.weight", ("backbone", "embed_tokens", "weight")),
        Rule(f"{_KEY}.input_layernorm.weight", (*_LAYER, "input_layernorm", "weight")),
        Rule(f"{_KEY}.post_attention_layernorm.weight", (*_LAYER, "post_attention_layernorm", "weight")),
        Rule(f"{_KEY}.self_attn.q_proj.weight", (*_LAYER, "self_attn", "q_proj", "weight")),
        Rule(f"{_KEY}.self_attn.q_proj.bias", (*_LAYER, "self_attn", "q_proj", "bias")),
        Rule(f"{_KEY}.self_attn.k_proj.weight", (*_LAYER, "self_attn", "k_proj", "weight")),
        Rule(f"{_KEY}.self_attn.k_proj.bias", (*_LAYER, "self_attn", "k_proj", "bias")),
        Rule(f"{_KEY}.self_attn.v_proj.weight", (*_LAYER, "self_attn", "v_proj", "weight")),
        Rule(f"{_KEY}.self_attn.v_proj.bias", (*_LAYER, "self_attn", "v_proj", "bias")),
        Rule(f"{_KEY}.self_attn.o_proj.weight", (*_LAYER, "self_attn", "o_proj", "weight")),
        Rule(f"{_KEY}.self_attn.o_proj.bias", (*_LAYER, "self_attn", "o_proj", "bias")),
        Rule(f"{_KEY}.self_attn.q_norm.weight", (*_LAYER, "self_attn", "q_norm", "weight")),
        Rule(f"{_KEY}.self_attn.k_norm.weight", (*_LAYER, "self_attn", "k_norm", "weight")),
        Rule(f"{_KEY}.mlp.gate_proj.weight", (*_LAYER, "mlp", "gate_proj", "weight")),
        Rule(f"{_KEY}.mlp.up_proj.weight", (*_LAYER, "mlp", "up_proj", "weight")),
        Rule(f"{_KEY}.mlp.down_proj.weight", (*_LAYER, "mlp", "down_proj", "weight")),
        Rule("[model.]norm.weight", ("backbone", "norm", "weight")),
    ),
)
