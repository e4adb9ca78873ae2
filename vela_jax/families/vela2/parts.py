"""From a state to its typed parts, and the places of its keys in them (Vela 2.0 format, section 3.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NoReturn

from msgspec import UNSET, UnsetType

from vela_jax.contract import InvalidRequest
from vela_jax.surfaces.shown import shown
from vela_jax.systemone.json_values import canonical_json, is_structured

ROLES: Final = ("user", "context", "answer")
"""In the order in which a model reads its parts."""
KNOWN_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "request": "user",
        "user": "user",
        "prompt": "user",
        "source": "context",
        "context": "context",
        "document": "context",
        "tools": "context",
        "previous_answer": "context",
        "answer": "answer",
        "response": "answer",
    }
)
TEXT_KEY: Final = "request"  # the key that a state without keys counts as


@dataclass(frozen=True, slots=True)
class Field:
    """Where a state key's value stands: characters (code points) of the part of its role, `end` not included."""

    role: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class State:
    """The parts of a state, in role order, and the fields of its keys."""

    parts: Mapping[str, str]  # text by role
    fields: Mapping[str, Field]

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that have a part, in order."""
        return tuple(self.parts)


def read_state(state: Any, roles: Mapping[str, str] | UnsetType | None = UNSET) -> State:
    """Read a state. `roles` gives the role of each key; UNSET: keys denote their roles; None: no key has one.

    Raises InvalidRequest when there is nothing to read, or for a role that no key can have.
    """
    members = _members(state)
    if members is None:
        if isinstance(roles, Mapping):
            raise InvalidRequest("roles needs an object as the state: its members name keys of the state")
        text = _text_of(state)
        return _checked({"user": text}, {TEXT_KEY: Field("user", 0, len(text))})
    named = _roles_of(members, roles)
    parts: dict[str, str] = {}
    fields: dict[str, Field] = {}
    for role in ROLES:
        keys = [key for key in members if named.get(key, "context") == role]
        if keys:
            parts[role] = _join(role, {key: members[key] for key in keys}, keys[0] in named, fields)
    return _checked(parts, fields)


def _members(state: Any) -> Mapping[str, Any] | None:
    """The members of an object state, sent as such or as text; None for any other state."""
    if isinstance(state, str) and state.lstrip().startswith("{"):
        state = _parsed(state)
    if not isinstance(state, dict):
        return None
    if not state or not is_structured(state):
        _refuse()
    return state


def _parsed(text: str) -> Any:
    """The JSON object that a text holds, else the text."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("state: the JSON object in the text has half of a surrogate pair, no character") from None
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _text_of(state: Any) -> str:
    if isinstance(state, str):
        return state
    if not isinstance(state, list) or not is_structured(state):
        _refuse()
    return canonical_json(state)


def _roles_of(members: Mapping[str, Any], roles: Mapping[str, str] | UnsetType | None) -> Mapping[str, str]:
    """The roles of the keys that have one."""
    if roles is UNSET:
        return {key: KNOWN_KEYS[key.lower()] for key in members if key.lower() in KNOWN_KEYS}
    if roles is None:
        return {}
    assert isinstance(roles, Mapping)
    missing = sorted(set(roles) - set(members))
    if missing:
        raise InvalidRequest(f"roles names keys that the state lacks: {shown(missing)}")
    unknown = sorted(key for key, role in roles.items() if role not in ROLES)
    if unknown:
        raise InvalidRequest(f"roles of {shown(unknown)} must be one of {list(ROLES)}")
    return roles


def _join(role: str, members: Mapping[str, Any], is_known: bool, fields: dict[str, Field]) -> str:
    """The text of one part: the value alone of a single key with a role, else each value under its key."""
    texts = {key: value if isinstance(value, str) else canonical_json(value) for key, value in members.items()}
    if len(texts) == 1 and is_known:
        ((key, text),) = texts.items()
        fields[key] = Field(role, 0, len(text))
        return text
    blocks: list[str] = []
    length = 0
    for key, text in texts.items():
        start = length + len(key) + 2
        fields[key] = Field(role, start, start + len(text))
        blocks.append(f"{key}:\n{text}")
        length = start + len(text) + 2
    return "\n\n".join(blocks)


def _checked(parts: Mapping[str, str], fields: Mapping[str, Field]) -> State:
    for role, text in parts.items():
        if not text.strip():
            raise InvalidRequest(f"state: the {role} part is blank; it needs at least one visible character")
    return State(parts, fields)


def _refuse() -> NoReturn:
    raise InvalidRequest("state must be text that is not blank, an array, or an object with at least one member")
