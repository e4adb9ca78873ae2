"""Key map of `classification_heads.safetensors`: the relevance scorers of a reranker (Vela 1.0 format, section 13.1).

The network holds scorers of the served exits alone; keys of other exits map to paths that the abstract tree lacks.
"""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule, Transform

_SCORER: Final = ("scorers", "by_exit", "{layer}.{dimension}")
_KEY: Final = "{layer}.{dimension}"

SCORERS: Final = KeyMap(
    rules=(
        Rule(f"{_KEY}.0.weight", (*_SCORER, "hidden", "weight")),
        Rule(f"{_KEY}.0.bias", (*_SCORER, "hidden", "bias")),
        Rule(f"{_KEY}.3.weight", (*_SCORER, "output", "weight"), Transform.ONLY_ROW),
        Rule(f"{_KEY}.3.bias", (*_SCORER, "output", "bias")),
    ),
)
