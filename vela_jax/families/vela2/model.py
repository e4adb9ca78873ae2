"""The members as the server sees them, their cards and plans; and the encoder member."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import UNSET

from vela_jax.contract import InputRefused, InvalidRequest, Surface, UnsupportedSurface
from vela_jax.families.vela2.answers import Answerer
from vela_jax.families.vela2.encoder_layout import EncoderLayout
from vela_jax.families.vela2.encoder_rows import EncoderRows
from vela_jax.families.vela2.parts import read_state
from vela_jax.families.vela2.plan import DecisionsPlan, Reading
from vela_jax.families.vela2.questions import HEADS, TYPES, Asked, QuestionReader, Refused
from vela_jax.families.vela2.rows import Limits, Parts
from vela_jax.families.vela2.spec import DecoderSpec, EncoderSpec
from vela_jax.families.vela2.texts import Pieces, read_parts
from vela_jax.surfaces.card import Description
from vela_jax.surfaces.requests import DecisionsRequest
from vela_jax.systemone.questions import (
    MAX_LABELS,
    MAX_LEVELS,
    MAX_OPTIONS,
    MIN_LEVELS,
    MIN_OPTIONS,
    check_question_ids,
)
from vela_jax.text.tokenizer import TextTokenizer

FAMILY: Final = "vela2"
_SCAN_INPUTS: Final = {"cpu": 4}
"""Sequences that the scan budget is worth, by platform."""
_SCAN_INPUTS_ELSEWHERE: Final = 32


class RowPlanner(Protocol):
    """Plans the rows of one request."""

    @property
    def refused(self) -> Mapping[str, Refused]:
        """Questions that cannot be read."""

    def plan(self, asked: Sequence[Asked]) -> tuple[Reading, ...]:
        """Readings of all others."""


class DecisionsModel(ABC):
    """Serves decisions. `platform` is where it runs; it decides how far long texts are read."""

    def __init__(
        self,
        spec: EncoderSpec | DecoderSpec,
        tokenizer: TextTokenizer,
        parameters: int,
        platform: str,
        *,
        heads: Sequence[str],
    ) -> None:
        self._spec = spec
        self._parameters = parameters
        self.pieces = Pieces(tokenizer, spec.max_length)
        self.pieces.reader.check()  # so that the first long text does not wait for it
        self._reader = QuestionReader(spec.calibration, heads)
        self._answerer = Answerer(spec.calibration, spec.fits_nouls)
        self._limits = _limits(spec, platform)

    @abstractmethod
    def open_rows(self, limits: Limits, parts: Parts) -> RowPlanner:
        """What plans the rows of one request."""

    def plan(self, surface: Surface, request: Any) -> DecisionsPlan:
        """Validate, lay out and tokenize."""
        if surface is not Surface.DECISIONS:
            raise UnsupportedSurface(f"this model does not serve {surface}; it serves ['decisions']")
        assert isinstance(request, DecisionsRequest)
        check_question_ids(request.questions)
        limits = self._limits_of(request)
        _refuse_media(request)
        state = read_state(request.state, request.roles)
        read = self._reader.read_all(request.questions, state)
        refused = {key: entry for key, entry in read.items() if isinstance(entry, Refused)}
        asked = [entry for entry in read.values() if isinstance(entry, Asked)]
        if not asked:
            return DecisionsPlan(tuple(read), refused, (), self._answerer)
        rows = self.open_rows(limits, Parts(read_parts(self.pieces, state.parts, limits.scan)))
        readings = rows.plan(asked)
        return DecisionsPlan(tuple(read), {**refused, **rows.refused}, readings, self._answerer)

    def describe(self) -> Description:
        """The family's part of the card."""
        limits = {
            "max_input_tokens": self._spec.max_length,
            "min_options": MIN_OPTIONS,
            "max_options": MAX_OPTIONS,
            "min_levels": MIN_LEVELS,
            "max_levels": MAX_LEVELS,
            "max_labels": MAX_LABELS,
            "max_scan_tokens": self._limits.scan,
            "truncate_tokens": self._limits.truncate,
        }
        return Description(
            family=FAMILY,
            surfaces=[Surface.DECISIONS],
            limits=limits,
            parameters=self._parameters,
            question_types=list(TYPES),
            presets=list(self._spec.calibration.presets),
        )

    def _limits_of(self, request: DecisionsRequest) -> Limits:
        """The limits of one request: its own scan budget is never below one sequence."""
        own = request.options.max_tokens
        if own is UNSET:
            return self._limits
        if own < 1:
            raise InvalidRequest(f"options.max_tokens must be at least 1, got {own}")
        limits = self._limits
        return Limits(limits.sequence, max(own, limits.sequence), limits.truncate, limits.overlap)


class EncoderModel(DecisionsModel):
    """The encoder member."""

    def __init__(self, spec: EncoderSpec, tokenizer: TextTokenizer, depth: int, parameters: int, platform: str) -> None:
        super().__init__(spec, tokenizer, parameters, platform, heads=HEADS[:1])
        self._layout = EncoderLayout(spec.special, self.pieces, depth)

    def open_rows(self, limits: Limits, parts: Parts) -> EncoderRows:
        """What plans the rows of one request."""
        return EncoderRows(self._layout, limits, parts)


def _limits(spec: EncoderSpec | DecoderSpec, platform: str) -> Limits:
    inputs = _SCAN_INPUTS.get(platform, _SCAN_INPUTS_ELSEWHERE)
    scan = spec.max_scan_tokens or inputs * spec.max_length
    truncate = spec.max_length if platform in _SCAN_INPUTS else scan
    overlap = spec.window_overlap if isinstance(spec, EncoderSpec) else 0
    return Limits(spec.max_length, scan, truncate, overlap)


def _refuse_media(request: DecisionsRequest) -> None:
    if request.images or request.videos or request.question_images:
        kind = "videos" if request.videos else "images"
        raise InputRefused(f"{kind} are not supported: this model reads text only")
