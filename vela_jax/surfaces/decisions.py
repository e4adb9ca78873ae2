"""A decisions request as it came: one state or several by name, told apart and checked for their members.

Source: System One semantics, section 3; HTTP contract, section 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vela_jax.contract import InvalidRequest
from vela_jax.surfaces.options import Options
from vela_jax.surfaces.shown import kind_of, shown, shown_name

_MEDIA: Final = ("images", "videos")
_OF_A_STATE: Final = ("state", "questions", *_MEDIA, "roles")


class DecisionsOptions(Options, frozen=True, kw_only=True):
    """Options of `/v1/decisions`."""

    max_tokens: int | UnsetType = UNSET
    long_context: bool = False

    def check(self) -> None:
        """Refuse values that are of the right type and still not allowed."""
        super().check()
        if self.max_tokens is not UNSET and self.max_tokens < 1:
            raise InvalidRequest(f"options.max_tokens must be at least 1, got {self.max_tokens}")


class DecisionsBody(msgspec.Struct, frozen=True, kw_only=True):
    """The members of a body of `/v1/decisions`, of both of its forms."""

    model: Any = None
    state: Any = UNSET
    questions: Any = UNSET
    images: Any = UNSET
    videos: Any = UNSET
    roles: Any = UNSET
    states: Any = UNSET
    assets: Any = UNSET
    options: DecisionsOptions = msgspec.field(default_factory=DecisionsOptions)


@dataclass(frozen=True, slots=True)
class Entry:
    """One state with its questions, not yet judged; an absent list of images or videos is empty."""

    state: Any
    questions: dict[str, Any]
    images: list[Any]
    videos: list[Any]
    roles: Any  # UNSET where absent


def read_entries(body: DecisionsBody) -> dict[str | None, Entry]:
    """The states of a request by name; the standard form has one without a name, None.

    Raises InvalidRequest for mixed forms, a missing or unknown member, a wrong type of `questions` or of a list.
    """
    if body.states is UNSET:
        return {None: _read_entry(msgspec.structs.asdict(body), "")}
    mixed = [name for name in _OF_A_STATE if getattr(body, name) is not UNSET]
    if mixed:
        raise InvalidRequest(f"states cannot go with {mixed}: give them in the entries of states")
    if not isinstance(body.states, dict) or not body.states:
        raise InvalidRequest(f"states must be an object with at least one entry, got {kind_of(body.states)}")
    return {name: _read_named(name, entry) for name, entry in body.states.items()}


def _read_named(name: str, entry: Any) -> Entry:
    if not name.strip():
        raise InvalidRequest("states has a blank name; a name needs at least one visible character")
    where = f"states.{shown_name(name)}"
    if not isinstance(entry, dict):
        raise InvalidRequest(f"{where} must be an object, got {kind_of(entry)}")
    unknown = sorted(member for member in entry if member not in _OF_A_STATE)
    if unknown:
        raise InvalidRequest(f"{where} has unknown members {shown(unknown)}; an entry takes {list(_OF_A_STATE)}")
    return _read_entry(entry, f"{where}.")


def _read_entry(members: Mapping[str, Any], prefix: str) -> Entry:
    for name in ("state", "questions"):
        if members.get(name, UNSET) is UNSET:
            raise InvalidRequest(f"{prefix}{name} is required")
    questions = members["questions"]
    if not isinstance(questions, dict):
        raise InvalidRequest(f"{prefix}questions must be an object of questions by ID, got {kind_of(questions)}")
    media = {name: _read_list(members.get(name, UNSET), prefix + name) for name in _MEDIA}
    return Entry(members["state"], questions, **media, roles=members.get("roles", UNSET))


def _read_list(value: Any, where: str) -> list[Any]:
    if value is UNSET:
        return []
    if not isinstance(value, list):
        raise InvalidRequest(f"{where} must be a list of data URLs, got {kind_of(value)}")
    return value
