"""Key map of Qwen3.5 text backbones (Vela 2.0 format, section 11.2): at the root, or under a prefix."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_LAYER: Final = ("backbone", "layers", "{i}")
_PARTS: Final = (
    "input_layernorm.weight",
    "post_attention_layernorm.weight",
    "linear_attn.in_proj_qkv.weight",
    "linear_attn.in_proj_z.weight",
    "linear_attn.in_proj_b.weight",
    "linear_attn.in_proj_a.weight",
    "linear_attn.conv1d.weight",
    "linear_attn.dt_bias",
    "linear_attn.A_log",
    "linear_attn.norm.weight",
    "linear_attn.out_proj.weight",
    "self_attn.q_proj.weight",
    "self_attn.q_proj.bias",
    "self_attn.k_proj.weight",
    "self_attn.k_proj.bias",
    "self_attn.v_proj.weight",
    "self_attn.v_proj.bias",
    "self_attn.o_proj.weight",
    "self_attn.o_proj.bias",
    "self_attn.q_norm.weight",
    "self_attn.k_norm.weight",
    "mlp.gate_proj.weight",
    "mlp.up_proj.weight",
    "mlp.down_proj.weight",
)
"""Tensors of a layer; their names are the paths of the network."""


def backbone_map(prefix: str) -> KeyMap:
    """The key map of a backbone whose keys begin with the pattern `prefix`."""
    layers = (Rule(f"{prefix}layers.{{i}}.{part}", (*_LAYER, *part.split("."))) for part in _PARTS)
    return KeyMap(
        rules=(
            Rule(f"{prefix}embed_tokens.weight", ("backbone", "embed_tokens", "weight")),
            *layers,
            Rule(f"{prefix}norm.weight", ("backbone", "norm", "weight")),
        ),
    )


BACKBONE: Final = backbone_map("[model.]")
