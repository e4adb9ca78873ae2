"""Options of a classify request, settled against the head's own policy (HTTP contract, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from msgspec import UNSET

from vela_jax.contract import InvalidRequest
from vela_jax.families.task_heads.reading import Overflow
from vela_jax.families.task_heads.spec import ClassifierSpec, Kind
from vela_jax.surfaces.requests import ClassifyOptions

OVERFLOWS: tuple[str, ...] = get_args(Overflow)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one classify request reads and answers."""

    budget: int  # framed tokens of one input
    overflow: Overflow
    window: tuple[int, int]  # (tokens with specials, overlap in content tokens); read under `window` only
    threshold: float | None
    return_tokens: bool


def settle(options: ClassifyOptions, spec: ClassifierSpec, limit: int) -> Settings:
    """Join the options and the head's defaults. Raises InvalidRequest with the option's name."""
    overflow = _overflow(options, spec)
    budget = _budget(options, spec, limit)
    window = _window(options, spec) or (0, 0)
    if overflow == "window":
        _check_window(window, budget, limit)
    return Settings(budget, overflow, window, _threshold(options), options.return_tokens)


def default_window(spec: ClassifierSpec) -> tuple[int, int] | None:
    """The window of the packaged operating point."""
    return spec.operating_point.window if spec.operating_point else None


def default_overflow(spec: ClassifierSpec) -> Overflow:
    """`window` where the operating point reads windows, else `reject`."""
    return "window" if default_window(spec) else "reject"


def _overflow(options: ClassifyOptions, spec: ClassifierSpec) -> Overflow:
    overflow = options.overflow or default_overflow(spec)
    if overflow not in OVERFLOWS:
        raise InvalidRequest(f"options.overflow must be one of {list(OVERFLOWS)}, got {overflow!r}")
    if overflow == "window" and spec.kind is Kind.GROUNDED:
        raise InvalidRequest("options.overflow: a grounded head takes 'reject' or 'truncate', got 'window'")
    if overflow == "window" and options.window is UNSET and default_window(spec) is None:
        raise InvalidRequest("options.window is required: this head has no window of its own")
    return cast(Overflow, overflow)


def _budget(options: ClassifyOptions, spec: ClassifierSpec, limit: int) -> int:
    if options.max_tokens is UNSET:
        point = spec.operating_point
        return min(limit, point.max_document_tokens) if point and point.max_document_tokens else limit
    if not 1 <= options.max_tokens <= limit:
        raise InvalidRequest(f"options.max_tokens must be 1 to {limit}, got {options.max_tokens}")
    return options.max_tokens


def _window(options: ClassifyOptions, spec: ClassifierSpec) -> tuple[int, int] | None:
    if options.window is UNSET:
        return default_window(spec)
    return options.window.tokens, options.window.overlap


def _check_window(window: tuple[int, int], budget: int, limit: int) -> None:
    tokens, overlap = window
    if tokens > limit:
        raise InvalidRequest(f"options.window.tokens must be at most {limit}, got {tokens}")
    if tokens > budget:
        raise InvalidRequest(f"options.window.tokens must be at most max_tokens, {budget}, got {tokens}")
    if overlap < 0:
        raise InvalidRequest(f"options.window.overlap must be at least 0, got {overlap}")


def _threshold(options: ClassifyOptions) -> float | None:
    if options.threshold is UNSET:
        return None
    if not 0 <= options.threshold <= 1:
        raise InvalidRequest(f"options.threshold must be 0 to 1, got {options.threshold}")
    return options.threshold
