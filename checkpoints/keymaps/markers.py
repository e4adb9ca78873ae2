"""Key map of the marker head (Vela 2.0 format, section 2.3)."""

from __future__ import annotations

from typing import Final

from checkpoints.keymaps.keymap import KeyMap, Rule

_LAYERS: Final = {
    **{name: name for name in ("norm", "w_o", "w_q", "w_p", "w_t", "w_e")},
    "cls_mlp.0": "mlp_inner",
    "cls_mlp.3": "mlp_outer",
}

PREFIXES: Final = ("norm.", "w_", "log_tau", "cls_mlp.")
"""Keys that begin so belong to the head: each must be known."""
HEAD: Final = KeyMap(
    rules=(
        *(Rule(f"{key}.{kind}", ("head", name, kind)) for key, name in _LAYERS.items() for kind in ("weight", "bias")),
        Rule("log_tau", ("head", "log_tau")),
        Rule("log_tau_span", ("head", "log_tau_span")),
    ),
)
