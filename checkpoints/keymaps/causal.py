"""Key map of Qwen3 and Llama checkpoints with an output head (token-in/token-out contract, section 13)."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule
from checkpoints.keymaps.qwen3 import BACKBONE

_BUFFERS: Final = ("[model.]layers.{i}.self_attn.rotary_emb.inv_freq",)

UNTIED: Final = KeyMap((*BACKBONE.rules, Rule("lm_head.weight", ("lm_head", "weight"))), _BUFFERS)
TIED: Final = KeyMap(BACKBONE.rules, (*_BUFFERS, "lm_head.weight"))
"""Some checkpoints store the tied head a second time."""
