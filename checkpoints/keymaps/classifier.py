"""Key map of the classifier head (Vela 1.0 format, section 7)."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

HEAD: Final = KeyMap(
    rules=(
        Rule("head.dense.weight", ("head", "dense", "weight")),
        Rule("head.dense.bias", ("head", "dense", "bias")),
        Rule("head.norm.weight", ("head", "norm", "weight")),
        Rule("head.norm.bias", ("head", "norm", "bias")),
        Rule("classifier.weight", ("head", "classifier", "weight")),
        Rule("classifier.bias", ("head", "classifier", "bias")),
    ),
)
