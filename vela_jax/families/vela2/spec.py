"""What a Vela 2.0 package says beside its weights (Vela 2.0 format, sections 2.1 and 12)."""

from __future__ import annotations

from dataclasses import dataclass

from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.encoder_layout import EncoderIds
from vela_jax.heads.markers import MarkerConfig


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
