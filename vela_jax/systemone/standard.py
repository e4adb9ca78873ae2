"""The public standard's forms read into the internal ones (System One semantics, sections 6.5, 7.3, 12 and 13.4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from msgspec import UNSET

from vela_jax.surfaces.decisions import Entry

CHOOSE: Final = "Choose the best matching option."
DEFAULT_INSTRUCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "noul": "Decide which of the two descriptions holds.",
        "choice": CHOOSE,
        "score": "Choose the best matching level.",
    }
)
"""What stands for absent instructions where the criteria say what is asked."""

_LISTS: Final = ("choices", "levels", "labels")
_OWN_TEXT: Final = ("instructions", "criteria", *_LISTS)


def read_standard(entry: Entry, presets: Collection[str]) -> Entry:
    """Read the questions of an entry in the form that the public standard allows.

    A question that may leave its instructions out gets the default ones; of a trained preset beside a text of the
    question's own, the preset counts where the model has it, else the text.
    """
    return replace(entry, questions={key: _read(question, presets) for key, question in entry.questions.items()})


def without_roles(entry: Entry) -> Entry:
    """An entry that names no roles has none: no part of its object state has a role."""
    return replace(entry, roles=None) if entry.roles is UNSET else entry


def leading(state: Any, kinds: Mapping[str, str]) -> tuple[list[str], Any]:
    """References to media in front of the one other element of an array, images before videos, and that element.

    Any other state is given back as it is, without references.
    """
    if not isinstance(state, list) or len(state) < 2:
        return [], state
    *front, last = state
    found = [kinds.get(item) if isinstance(item, str) else None for item in front]
    if None in found or found != sorted(found, key=str) or (isinstance(last, str) and last in kinds):
        return [], state
    return front, last


def _read(question: Any, presets: Collection[str]) -> Any:
    if not isinstance(question, dict):
        return question
    if isinstance(question.get("type"), str) and any(question.get(name) is not None for name in _OWN_TEXT):
        question = _settle_preset(question, presets)
    if "preset" not in question and question.get("instructions") is None and _describes(question):
        return {**question, "instructions": DEFAULT_INSTRUCTIONS[question["type"]]}
    return question


def _settle_preset(question: dict[str, Any], presets: Collection[str]) -> dict[str, Any]:
    """Leave out what does not count: the text beside a known preset, the name of an unknown one."""
    preset = question.get("preset")
    if not isinstance(preset, str):
        return question
    left_out = _OWN_TEXT if preset in presets else ("preset",)
    return {name: value for name, value in question.items() if name not in left_out}


def _describes(question: Mapping[str, Any]) -> bool:
    """Whether a question's criteria say what is asked without its instructions."""
    kind = question.get("type")
    if not isinstance(kind, str) or kind not in DEFAULT_INSTRUCTIONS:
        return False
    criteria = question.get("criteria")
    given = criteria if criteria is not None else question.get("levels" if kind == "score" else "choices")
    if kind != "noul":
        return bool(given)
    if isinstance(given, dict):
        return any(description is not None for description in given.values())
    return isinstance(given, list) and any(isinstance(each, dict) and each.get("description") for each in given)
