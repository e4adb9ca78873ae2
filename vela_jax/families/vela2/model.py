"""The encoder member as the server sees it: its card and its plans."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from vela_jax.contract import InputRefused, InvalidRequest, Surface, UnsupportedSurface
from vela_jax.families.vela2.answers import Answerer
from vela_jax.families.vela2.encoder_layout import EncoderLayout
from vela_jax.families.vela2.encoder_rows import EncoderRows, Limits, Parts
from vela_jax.families.vela2.parts import read_state
from vela_jax.families.vela2.plan import DecisionsPlan
from vela_jax.families.vela2.questions import TYPES, Asked, QuestionReader, Refused
from vela_jax.families.vela2.spec import EncoderSpec
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


class EncoderModel:
    """Serves decisions. `platform` is where it runs; it decides how far long texts are read."""

    def __init__(self, spec: EncoderSpec, tokenizer: TextTokenizer, depth: int, parameters: int, platform: str) -> None:
        self._spec = spec
        self._parameters = parameters
        self._pieces = Pieces(tokenizer, spec.max_length)
        self._pieces.reader.check()  # so that the first long text does not wait for it
        self._layout = EncoderLayout(spec.special, self._pieces, depth)
        self._reader = QuestionReader(spec.calibration)
        self._answerer = Answerer(spec.calibration, spec.fits_nouls)
        self._limits = _limits(spec, platform)

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
        rows = EncoderRows(self._layout, limits, Parts(read_parts(self._pieces, state.parts, limits.scan)))
        readings = rows.plan(asked)
        return DecisionsPlan(tuple(read), refused | rows.refused, readings, self._answerer)

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


def _limits(spec: EncoderSpec, platform: str) -> Limits:
    inputs = _SCAN_INPUTS.get(platform, _SCAN_INPUTS_ELSEWHERE)
    scan = spec.max_scan_tokens or inputs * spec.max_length
    truncate = spec.max_length if platform in _SCAN_INPUTS else scan
    return Limits(spec.max_length, scan, truncate, spec.window_overlap)


def _refuse_media(request: DecisionsRequest) -> None:
    if request.images or request.videos or request.question_images:
        kind = "videos" if request.videos else "images"
        raise InputRefused(f"{kind} are not supported: this model reads text only")
