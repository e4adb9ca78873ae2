"""Questions of a command line in a compact form, as the request carries them (System One semantics, section 6).

`[ID:] INSTRUCTIONS | ENTRY | ENTRY`: an entry is `KEY` or `KEY: DESCRIPTION`, of a score just the description.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from serving.cli.ask.texts import read_file
from serving.cli.failure import CommandFailed

_ID: Final = re.compile(r"([\w.-]+):\s+(?=\S)")
_BAR: Final = re.compile(r"(?<!\\)\|")
_NOUL_KEYS: Final = ("false", "true")

Question = dict[str, Any]


def read_questions(asked: Sequence[tuple[str, str]], file: Path | None) -> dict[str, Question]:
    """The questions by their IDs: those of the file, then those of the options, each a (kind, compact form).

    Raises CommandFailed for what cannot be read, and for an ID that comes twice.
    """
    questions = {} if file is None else read_question_file(file)
    for kind, text in asked:
        name, question = read_question(kind, text)
        name = name or _free_name(question.get("preset", kind), questions)
        if name in questions:
            raise CommandFailed(f"--{kind}: the question ID {name!r} comes twice; give each question one of its own")
        questions[name] = question
    return questions


def read_question_file(path: Path) -> dict[str, Question]:
    """A JSON object of questions by ID, or a request with such an object as `questions`. Raises CommandFailed."""
    try:
        value = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise CommandFailed(f"{path} is not JSON: {error}") from error
    if isinstance(value, dict) and isinstance(value.get("questions"), dict):
        value = value["questions"]
    if not isinstance(value, dict) or not value:
        raise CommandFailed(f"{path} must hold a JSON object of questions by their IDs, with at least one")
    return dict(value)


def read_question(kind: str, text: str) -> tuple[str | None, Question]:
    """ID, if one is given, and question of a compact form. Raises CommandFailed."""
    named = _ID.match(text)
    name = named[1] if named else None
    head, *entries = (part.replace("\\|", "|").strip() for part in _BAR.split(text[named.end() if named else 0 :]))
    if not head:
        raise CommandFailed(f"--{kind}: {text!r} asks nothing; begin with the instructions")
    if kind == "preset":
        if entries:
            raise CommandFailed(f"--preset: {text!r} must be the name of a preset alone; it brings its own labels")
        return name, {"preset": head}
    question: Question = {"type": kind, "instructions": head}
    if entries or kind != "noul":
        question["criteria"] = _criteria(kind, text, entries)
    return name, question


def _criteria(kind: str, text: str, entries: Sequence[str]) -> list[str] | dict[str, str | None]:
    if kind == "score":
        _check_count(kind, text, entries, 2)
        return list(entries)
    criteria: dict[str, str | None] = {}
    for entry in entries:
        key, _, description = (part.strip() for part in entry.partition(":"))
        if not key or key in criteria:
            raise CommandFailed(f"--{kind}: the entries of {text!r} must be different and not blank")
        criteria[key] = description or None
    if kind == "noul" and not set(criteria) <= set(_NOUL_KEYS):
        raise CommandFailed(f"--noul: the entries of {text!r} can only be 'false: ...' and 'true: ...'")
    _check_count(kind, text, entries, {"noul": 0, "choice": 2}.get(kind, 1))
    return criteria


def _check_count(kind: str, text: str, entries: Sequence[str], least: int) -> None:
    if len(entries) < least or not all(entries):
        raise CommandFailed(
            f"--{kind}: {text!r} must name {least} or more entries behind the instructions, each after a '|'"
        )


def _free_name(stem: str, taken: dict[str, Question]) -> str:
    """The stem, or with the first number that nobody has."""
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name
