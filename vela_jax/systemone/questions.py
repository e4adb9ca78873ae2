"""Typed questions, read in the order of checks that the contract fixes (System One semantics, section 6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from vela_jax.contract import InvalidRequest
from vela_jax.surfaces.shown import kind_of, shown, shown_name
from vela_jax.systemone.json_values import is_content

MIN_OPTIONS, MAX_OPTIONS = 2, 255
MIN_LEVELS, MAX_LEVELS = 2, 10
MAX_LABELS = 255
NOUL_KEYS = ("false", "true")
_SHARED: Final = frozenset({"type", "instructions", "criteria", "require_full_input"})
MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "choice": _SHARED | {"choices"},
        "noul": _SHARED | {"choices"},
        "score": _SHARED | {"levels"},
        "set": _SHARED | {"labels"},
        "span": _SHARED | {"labels"},
    }
)
_ELSEWHERE: Final = ("box", "track")  # types of other models, whose refusal has a reason of its own

Described = tuple[tuple[str, Any], ...]
"""(key, description) in request order; a description is text, an object, an array or None."""


class InvalidQuestion(Exception):
    """One question is malformed or of a kind that the model does not serve; its neighbours are answered.

    `reason` is a finer reason where the contract names one.
    """

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of several options."""

    instructions: Any
    options: Described
    require_full_input: bool


@dataclass(frozen=True, slots=True)
class Noul:
    """Whether something holds; `false` and `true` describe the two outcomes or are None."""

    instructions: Any
    false: Any
    true: Any
    require_full_input: bool


@dataclass(frozen=True, slots=True)
class Score:
    """Where on a scale; levels are text, objects or arrays from the lowest on."""

    instructions: Any
    levels: tuple[Any, ...]
    require_full_input: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    """Which labels apply to the whole (`set`), or where in the text each is found (`span`)."""

    kind: Literal["set", "span"]
    instructions: Any
    labels: Described
    require_full_input: bool


Question = Choice | Noul | Score | Labelled


def read_question(raw: Any, types: Collection[str], further: Mapping[str, frozenset[str]] | None = None) -> Question:
    """Read one question of the given types. Raises InvalidQuestion with the first failing check.

    `further` are members that a family takes by type, beside those of all families; they are left to it.
    """
    kind = read_type(raw, types)
    check_members(raw, kind, MEMBERS[kind] | (further or {}).get(kind, frozenset()))
    instructions, full = _instructions(raw), raw.get("require_full_input", False)
    match kind:
        case "score":
            return Score(instructions, _levels(_criteria(raw, "levels")), full)
        case "noul":
            return Noul(instructions, *_noul(_criteria(raw, "choices")), full)
        case "choice":
            return Choice(instructions, _described(_criteria(raw, "choices"), MIN_OPTIONS), full)
        case "set" | "span":
            return Labelled(kind, instructions, _described(_criteria(raw, "labels"), 1), full)
    raise AssertionError(kind)


def read_type(raw: Any, types: Collection[str]) -> str:
    """The type of a question. Raises InvalidQuestion when it is no object or of a type that is not served."""
    check_object(raw)
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in types:
        found = repr(shown_name(kind)) if isinstance(kind, str) else kind_of(kind)
        reason = f"{kind}_unsupported" if kind in _ELSEWHERE else None
        raise InvalidQuestion(f"type must be one of {sorted(types)}, got {found}", reason=reason)
    return kind


def check_object(raw: Any) -> None:
    """Refuse a question that is no object."""
    if not isinstance(raw, dict):
        raise InvalidQuestion("a question must be an object")


def check_members(raw: Mapping[str, Any], kind: str, allowed: Collection[str]) -> None:
    """Refuse a bad `require_full_input` and members that are not allowed; `kind` names the question in the message."""
    full = raw.get("require_full_input", False)
    if not isinstance(full, bool):
        raise InvalidQuestion(f"require_full_input must be true or false, got {kind_of(full)}")
    if full and raw.get("overflow") == "truncate" and "overflow" in allowed:
        raise InvalidQuestion("require_full_input cannot be true where overflow is 'truncate': use one of them")
    unknown = sorted(set(raw) - set(allowed))
    if unknown:
        raise InvalidQuestion(f"{kind} questions do not take {shown(unknown)}")


def question_type(raw: Any) -> Any:
    """The type that a failed answer reports: whatever was sent."""
    return raw.get("type") if isinstance(raw, dict) else None


def check_question_ids(questions: Mapping[str, Any]) -> None:
    """Refuse a request without questions or with a blank question ID."""
    if not questions:
        raise InvalidRequest("questions must hold at least one question, got none")
    if not all(key.strip() for key in questions):
        raise InvalidRequest("questions has a blank question ID; an ID needs at least one visible character")


def _instructions(raw: Mapping[str, Any]) -> Any:
    if "instructions" not in raw:
        raise InvalidQuestion("instructions is required")
    if not is_content(raw["instructions"]):
        raise InvalidQuestion("instructions must be text that is not blank, an object or an array")
    return raw["instructions"]


def _criteria(raw: Mapping[str, Any], form: str) -> Any:
    """The criteria whichever form they came in: `form` is the list that stands for them. None when there are none."""
    criteria, listed = raw.get("criteria"), raw.get(form)
    if listed is None:
        return criteria
    if criteria is not None:
        raise InvalidQuestion(f"use criteria or {form}, not both")
    return listed if form == "levels" else _entries(listed, form)


def _entries(listed: Any, form: str) -> dict[str, Any]:
    """The list form as a mapping."""
    if not isinstance(listed, list):
        raise InvalidQuestion(f"{form} must be a list of {{key, description}}")
    found: dict[str, Any] = {}
    for index, entry in enumerate(listed):
        if not isinstance(entry, dict) or "key" not in entry or set(entry) - {"key", "description"}:
            raise InvalidQuestion(f"{form}[{index}] must be an object with key and, if wanted, description")
        key = entry["key"]
        if not isinstance(key, str) or not key.strip():
            raise InvalidQuestion(f"{form}[{index}].key must be text that is not blank")
        if key in found:
            raise InvalidQuestion(f"{form} names {shown_name(key)!r} twice")
        found[key] = entry.get("description")
    return found


def _noul(criteria: Any) -> tuple[Any, Any]:
    if criteria is None:
        return None, None
    if not isinstance(criteria, dict) or set(criteria) - set(NOUL_KEYS):
        raise InvalidQuestion("criteria (or choices) of a noul may only describe 'false' and 'true'")
    _check_descriptions(criteria)
    return criteria.get("false"), criteria.get("true")


def _levels(criteria: Any) -> tuple[Any, ...]:
    if not isinstance(criteria, list) or not MIN_LEVELS <= len(criteria) <= MAX_LEVELS:
        found = len(criteria) if isinstance(criteria, list) else kind_of(criteria)
        raise InvalidQuestion(f"criteria (or levels) must be a list of {MIN_LEVELS} to {MAX_LEVELS}, got {found}")
    for index, level in enumerate(criteria):
        if not is_content(level):
            raise InvalidQuestion(f"criteria[{index}] must be text that is not blank, an object or an array")
    return tuple(criteria)


def _described(criteria: Any, least: int) -> Described:
    most = MAX_OPTIONS if least == MIN_OPTIONS else MAX_LABELS
    if not isinstance(criteria, dict) or not least <= len(criteria) <= most:
        found = len(criteria) if isinstance(criteria, dict) else kind_of(criteria)
        raise InvalidQuestion(f"criteria must name {least} to {most} options, got {found}")
    if not all(key.strip() for key in criteria):
        raise InvalidQuestion("criteria has a blank key")
    _check_descriptions(criteria)
    return tuple(criteria.items())


def _check_descriptions(criteria: Mapping[str, Any]) -> None:
    for key, description in criteria.items():
        if description is not None and not is_content(description):
            name = shown_name(key)
            raise InvalidQuestion(f"criteria.{name} must be text that is not blank, an object, an array or null")
