"""Key map of the heads of Vela 2.0 decoders (Vela 2.0 format, section 2.3)."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_CANDIDATE: Final = (
    "candidate_norm.weight",
    "candidate_norm.bias",
    "query_norm.weight",
    "query_norm.bias",
    "key.weight",
    "query.weight",
    "candidate_mlp.weight",
    "candidate_mlp.bias",
    "query_mlp.weight",
    "scalar.weight",
)
_SPANS: Final = (
    "wn.weight",
    "wn.bias",
    "ln.weight",
    "ln.bias",
    "slot.weight",
    "K.weight",
    "Q.weight",
    "M.weight",
    "M.bias",
    "N.weight",
    "v.weight",
    "o.weight",
    "o.bias",
)

PREFIXES: Final = ("head.", "set_bias", "span2.", "span_broad.")
"""Keys that begin so belong to the heads: each must be known."""
HEADS: Final = KeyMap(
    rules=(
        *(Rule(f"head.{part}", ("head", *part.split("."))) for part in _CANDIDATE),
        Rule("set_bias", ("set_bias",)),
        *(Rule(f"{head}.{part}", (head, *part.split("."))) for head in ("span2", "span_broad") for part in _SPANS),
    ),
)
