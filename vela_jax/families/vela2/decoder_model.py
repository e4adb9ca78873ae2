"""The decoder members as the server sees them."""

from __future__ import annotations

from vela_jax.families.vela2.decoder_layout import DecoderLayout
from vela_jax.families.vela2.decoder_rows import DecoderMember, DecoderRows
from vela_jax.families.vela2.model import DecisionsModel
from vela_jax.families.vela2.questions import HEADS
from vela_jax.families.vela2.rows import Limits, Parts
from vela_jax.families.vela2.spec import DecoderSpec
from vela_jax.text.tokenizer import TextTokenizer


class DecoderModel(DecisionsModel):
    """Serves decisions. `platform` is where it runs; it decides how far long texts are read."""

    def __init__(self, spec: DecoderSpec, tokenizer: TextTokenizer, depth: int, parameters: int, platform: str) -> None:
        heads = HEADS if spec.has_broad else HEADS[:1]
        super().__init__(spec, tokenizer, parameters, platform, heads=heads)
        layout = DecoderLayout(self.pieces)
        self._member = DecoderMember(layout, spec.spans, spec.calibration, spec.has_broad, depth)

    def open_rows(self, limits: Limits, parts: Parts) -> DecoderRows:
        """What plans the rows of one request."""
        return DecoderRows(self._member, limits, parts)
