"""Typed questions, read in the order of checks that the contract fixes (System One semantics, section 6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vela_jax.contract import InvalidRequest
from vela_jax.systemone.json_values import is_content

MIN_OPTIONS, MAX_OPTIONS = 2, 255
NOUL_KEYS = ("false", "true")
MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "choice": frozenset({"type", "instructions", "criteria", "choices", "require_full_input"}),
        "noul": frozenset({"type", "instructions", "criteria", "choices", "require_full_input"}),
    }
)


class InvalidQuestion(Exception):
    """One question is malformed or of a kind that the model does not serve; its neighbours are answered."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of several options; descriptions are text, an object, an array or None."""

    instructions: Any
    options: tuple[tuple[str, Any], ...]  # (key, description) in request order
    require_full_input: bool


@dataclass(frozen=True, slots=True)
class Noul:
    """Whether something holds; `false` and `true` describe the two outcomes or are None."""

    instructions: Any
    false: Any
    true: Any
    require_full_input: bool


Question = Choice | Noul


def read_question(raw: Any, types: Collection[str]) -> Question:
    """Read one question of the given types. Raises InvalidQuestion with the first failing check."""
    if not isinstance(raw, dict):
        raise InvalidQuestion("a question must be an object")
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in types:
        raise InvalidQuestion(f"type must be one of {sorted(types)}, got {kind!r}")
    full = raw.get("require_full_input", False)
    if not isinstance(full, bool):
        raise InvalidQuestion(f"require_full_input must be true or false, got {full!r}")
    unknown = sorted(set(raw) - MEMBERS[kind])
    if unknown:
        raise InvalidQuestion(f"{kind} questions do not take {unknown}")
    instructions = _instructions(raw)
    entries = _criteria(raw)
    if kind == "noul":
        false, true = _noul(entries)
        return Noul(instructions, false, true, full)
    return Choice(instructions, _choice(entries), full)


def question_type(raw: Any) -> str | None:
    """The type that an answer reports: what was sent if it is text."""
    kind = raw.get("type") if isinstance(raw, dict) else None
    return kind if isinstance(kind, str) else None


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


def _criteria(raw: Mapping[str, Any]) -> Any:
    """The criteria as a mapping whichever form they came in; None when the question has none."""
    criteria, choices = raw.get("criteria"), raw.get("choices")
    if choices is None:
        return criteria
    if criteria is not None:
        raise InvalidQuestion("use criteria or choices, not both")
    return _entries(choices)


def _entries(choices: Any) -> dict[str, Any]:
    """The list form as a mapping."""
    if not isinstance(choices, list):
        raise InvalidQuestion("choices must be a list of {key, description}")
    found: dict[str, Any] = {}
    for index, entry in enumerate(choices):
        if not isinstance(entry, dict) or "key" not in entry or set(entry) - {"key", "description"}:
            raise InvalidQuestion(f"choices[{index}] must be an object with key and, if wanted, description")
        key = entry["key"]
        if not isinstance(key, str) or not key.strip():
            raise InvalidQuestion(f"choices[{index}].key must be text that is not blank, got {key!r}")
        if key in found:
            raise InvalidQuestion(f"choices names {key!r} twice")
        found[key] = entry.get("description")
    return found


def _noul(criteria: Any) -> tuple[Any, Any]:
    if criteria is None:
        return None, None
    if not isinstance(criteria, dict) or set(criteria) - set(NOUL_KEYS):
        raise InvalidQuestion("criteria of a noul may only describe 'false' and 'true'")
    _check_descriptions(criteria)
    return criteria.get("false"), criteria.get("true")


def _choice(criteria: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(criteria, dict) or not MIN_OPTIONS <= len(criteria) <= MAX_OPTIONS:
        found = len(criteria) if isinstance(criteria, dict) else type(criteria).__name__
        raise InvalidQuestion(f"criteria must name {MIN_OPTIONS} to {MAX_OPTIONS} options, got {found}")
    if not all(key.strip() for key in criteria):
        raise InvalidQuestion("criteria has a blank key")
    _check_descriptions(criteria)
    return tuple(criteria.items())


def _check_descriptions(criteria: Mapping[str, Any]) -> None:
    for key, description in criteria.items():
        if description is not None and not is_content(description):
            raise InvalidQuestion(f"criteria.{key} must be text that is not blank, an object, an array or null")
