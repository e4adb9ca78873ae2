"""The network of the decoder members: Qwen3.5, read as a tree, under a candidate head and one or two span heads."""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Float, Int32

from vela_jax.backbones.qwen3_5 import Prefix, Qwen35, Qwen35Config
from vela_jax.forward.network import Mark
from vela_jax.heads.candidate import CandidateHead
from vela_jax.heads.spans import SpanConfig, SpanHead
from vela_jax.systemone.questions import MAX_LABELS

OPTIONS: Final = "options"
SET: Final = "set"
WIDTHS: Final = (8, 32, MAX_LABELS)  # labels that a span readout has room for
MOST_WORDS: Final = 1 << 12  # that begin with one token
MARKS: Final = (Mark("words", MOST_WORDS), Mark("router", MAX_LABELS + 1), Mark("broad", MAX_LABELS + 1))
"""What a row says of its tokens: how many words begin with them, and which label of either head they are of."""


def readout_name(head: str, labels: int) -> str:
    """The smallest readout of a span head that holds so many labels."""
    return f"{head}.{next(width for width in WIDTHS if width >= labels)}"


class DecoderNetwork(nnx.Module):
    """`options` and `set` [B S]: the logit of every token as the end of an option; `router.<n>`, `broad.<n>` [B S n]:

    its logits against the first n labels. Rows are questions, the prefix that they continue is the state.
    """

    def __init__(
        self, config: Qwen35Config, head_dim: int, router: SpanConfig, broad: SpanConfig | None, *, rngs: nnx.Rngs
    ) -> None:
        hidden = config.hidden_size
        self.backbone = Qwen35(config, rngs=rngs)
        self.head = CandidateHead(hidden, head_dim, rngs=rngs)
        self.set_bias = nnx.Param(jnp.zeros((), jnp.float32))
        self.span2 = SpanHead(hidden, router, rngs=rngs)
        self.span_broad = SpanHead(hidden, broad, rngs=rngs) if broad is not None else None
        self.depths = (config.num_hidden_layers,)
        heads = ("router",) if broad is None else ("router", "broad")
        self.per_token = (OPTIONS, SET, *(readout_name(head, width) for head in heads for width in WIDTHS))
        self.marks = MARKS

    def read_prefix(self, ids: Int32[jax.Array, "1 S"], lengths: Int32[jax.Array, " 1"], room: int) -> Prefix:
        """What the questions about a state continue, with room for `room` tokens."""
        return self.backbone.read_prefix(ids, lengths, room)

    def __call__(
        self,
        prefix: Prefix,
        ids: Int32[jax.Array, "B S"],
        lengths: Int32[jax.Array, " B"],
        marks: Int32[jax.Array, "B K S"],
        depth: int,
    ) -> dict[str, Float[jax.Array, "B S *C"]]:
        """Readouts by name; `depth` is that of the whole backbone."""
        assert depth == self.depths[-1]
        return self.read(self.backbone.read_branches(prefix, ids, lengths), lengths, marks)

    def read(
        self,
        hidden: Float[jax.Array, "B S D"],
        lengths: Int32[jax.Array, " B"],
        marks: Int32[jax.Array, "B K S"],
    ) -> dict[str, Float[jax.Array, "B S *C"]]:
        """What the heads make of the final states of questions."""
        words, router, broad = (marks[:, kind] for kind in range(len(MARKS)))
        options = self.head(hidden, lengths)
        found = {OPTIONS: options, SET: options + self.set_bias[...]}
        found |= _by_width("router", self.span2(hidden, words, router, MAX_LABELS))
        if self.span_broad is not None:
            found |= _by_width("broad", self.span_broad(hidden, words, broad, MAX_LABELS))
        return found


def _by_width(head: str, scores: jax.Array) -> dict[str, jax.Array]:
    return {readout_name(head, width): scores[:, :, :width] for width in WIDTHS}
