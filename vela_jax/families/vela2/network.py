"""The network of the encoder member: an encoder under a marker head, read at every token."""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.backbones.bert import BertConfig
from vela_jax.backbones.modernbert import ModernBertConfig
from vela_jax.backbones.registry import build
from vela_jax.forward.network import Mark
from vela_jax.heads.markers import MOST_LABELS, POOLS, SEGMENTS, MarkerConfig, MarkerHead

MARKS: Final = (Mark("segment", SEGMENTS + 1), Mark("pool", len(POOLS)), Mark("query"), Mark("labels"))
"""What a row says of its tokens: the part that each belongs to; at options, the range of parts that their question
reads and the place of its marker. The first of `labels` are the places of the labels, in order.
"""
WIDTHS: Final = (0, 8, 32, MOST_LABELS)  # labels that a readout has room for


def readout_width(labels: int) -> int:
    """The labels that the smallest readout for so many has room for."""
    return next(width for width in WIDTHS if width >= labels)


def readout_name(width: int) -> str:
    """The readout with room for `width` labels."""
    return f"decisions.{width}"


class EncoderNetwork(nnx.Module):
    """`decisions.<n>` [B S 1+n]: the option logit of every token, then its logits against the first n labels.

    A row of fewer than n tokens has as many columns as tokens, which are more than it has labels.
    """

    def __init__(self, config: ModernBertConfig | BertConfig, head: MarkerConfig, *, rngs: nnx.Rngs) -> None:
        self.backbone = build(config, rngs=rngs)
        self.head = MarkerHead(head, rngs=rngs)
        self.depths = (config.num_hidden_layers,)
        self.per_token = tuple(readout_name(width) for width in WIDTHS)
        self.marks = MARKS

    def __call__(
        self,
        ids: Int32[jax.Array, "B S"],
        lengths: Int32[jax.Array, " B"],
        marks: Int32[jax.Array, "B K S"],
        depth: int,
    ) -> dict[str, Float[jax.Array, "B S C"]]:
        """Readouts by name."""
        hidden = self.backbone(ids, lengths, (depth,))[depth]
        segment, pool, query, labels = (marks[:, kind] for kind in range(len(MARKS)))
        options = self.head.options(hidden, segment, pool, query)
        spans = self.head.labels(hidden, labels[:, :MOST_LABELS])
        both = jnp.concatenate([options[:, :, None], spans], axis=-1)
        return {readout_name(width): both[:, :, : 1 + width] for width in WIDTHS}
