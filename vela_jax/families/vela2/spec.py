"""What a Vela 2.0 package says beside its weights (Vela 2.0 format, sections 2.1 and 12)."""

from __future__ import annotations

from dataclasses import dataclass

from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.decoder_layout import SpanLayout
from vela_jax.families.vela2.encoder_layout import EncoderIds
from vela_jax.heads.markers import MarkerConfig
from vela_jax.heads.spans import SpanConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSpec:
    """The encoder member. `max_scan_tokens` and `fits_nouls` are options of the models file, settled."""

    head: MarkerConfig
    special: EncoderIds
    max_length: int  # tokens of one sequence
    window_overlap: int
    calibration: Calibration
    max_scan_tokens: int | None = None  # None: what suits the device
    fits_nouls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderSpec:
    """A decoder member; `broad_head` is None where the package has no second span head."""

    head_dim: int
    span_head: SpanConfig
    broad_head: SpanConfig | None
    spans: SpanLayout
    max_length: int  # tokens of a prefix and its blocks
    calibration: Calibration
    max_scan_tokens: int | None = None  # None: what suits the device
    fits_nouls: bool = False

    @property
    def has_broad(self) -> bool:
        """Whether questions may go to the second span head: it needs a calibration of its own."""
        return self.broad_head is not None and self.calibration.broad is not None
