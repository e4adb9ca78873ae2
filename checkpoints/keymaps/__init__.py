"""Key maps: one table an architecture or head, and the map of a backbone by its `model_type`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from checkpoints.keymaps import bert, classifier, decoder_heads, markers, modernbert, qwen3, qwen3_5, relevance
from checkpoints.keymaps.keymap import KeyMap, Match, Path, Rule, Transform, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

BACKBONES: Final[Mapping[str, KeyMap]] = MappingProxyType(
    {
        "bert": bert.BACKBONE,
        "modernbert": modernbert.BACKBONE,
        "qwen3": qwen3.BACKBONE,
        "qwen3_5_text": qwen3_5.BACKBONE,
    }
)
CLASSIFIER_HEAD: Final = classifier.HEAD
RELEVANCE_SCORERS: Final = relevance.SCORERS
MARKED_ENCODERS: Final[Mapping[str, KeyMap]] = MappingProxyType(
    {
        "bert": merged((bert.backbone_map("encoder."), markers.HEAD)),
        "modernbert": merged((modernbert.backbone_map("encoder."), markers.HEAD)),
    }
)
"""An encoder of either kind with the marker head beside it."""
MARKER_HEAD_PREFIXES: Final = markers.PREFIXES
DECISIONS_DECODER: Final = merged((qwen3_5.backbone_map("backbone."), decoder_heads.HEADS))
DECODER_HEAD_PREFIXES: Final = decoder_heads.PREFIXES

__all__ = [
    "BACKBONES",
    "CLASSIFIER_HEAD",
    "DECISIONS_DECODER",
    "DECODER_HEAD_PREFIXES",
    "MARKED_ENCODERS",
    "MARKER_HEAD_PREFIXES",
    "RELEVANCE_SCORERS",
    "KeyMap",
    "Match",
    "Path",
    "Rule",
    "Transform",
    "merged",
]
