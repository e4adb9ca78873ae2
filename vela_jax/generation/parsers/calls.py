"""What a tool call is, and reading one from JSON text that comes in parts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

_SPACE: Final = " \t\r\n"
_OPEN: Final = "{["
_CLOSE: Final = "}]"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole call; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(slots=True)
class CallDelta:
    """What a part adds to the call number `index`; `name` comes once, with the first delta of a call."""

    index: int
    name: str | None = None
    arguments: str = ""


@dataclass(slots=True)
class CallDeltas:
    """The deltas of one part, in order; text for one call is joined."""

    deltas: list[CallDelta] = field(default_factory=list)

    def begin(self, index: int, name: str) -> None:
        """A call is named."""
        self.deltas.append(CallDelta(index, name))

    def extend(self, index: int, arguments: str) -> None:
        """A call's arguments go on."""
        if not arguments:
            return
        if not self.deltas or self.deltas[-1].index != index:
            self.deltas.append(CallDelta(index))
        self.deltas[-1].arguments += arguments


class _At(Enum):
    """Where in the object the next character stands."""

    OBJECT = auto()
    KEY = auto()
    IN_KEY = auto()
    COLON = auto()
    VALUE = auto()
    IN_VALUE = auto()
    COMMA = auto()
    END = auto()


class CallScanner:
    """Reads `{"name": ..., "arguments": ...}` character by character; both members are given as they come.

    `is_broken` is set at the first character that no such object can have, `is_done` behind its last one. Arguments
    are the text as written; they come in `arguments` only once the name is known, and only ever grow.
    """

    def __init__(self, arguments_key: str) -> None:
        self._arguments_key = arguments_key
        self._at = _At.OBJECT
        self._key = ""
        self._value: list[str] = []
        self._early: list[str] = []  # arguments that stand before the name
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self.name: str | None = None
        self.arguments: list[str] = []
        self.is_done = False
        self.is_broken = False

    @property
    def is_over(self) -> bool:
        """Whether nothing further belongs to the call."""
        return self.is_done or self.is_broken

    def push(self, text: str) -> str:
        """Read characters; gives those that no longer belong to the call."""
        for place, character in enumerate(text):
            if self.is_over:
                return text[place:]
            self._read(character)
            if self.is_broken:
                return text[place:]
        return ""

    def take_arguments(self) -> str:
        """Give the argument text since the last time."""
        text = "".join(self.arguments)
        self.arguments.clear()
        return text

    def _read(self, character: str) -> None:
        if self._at is _At.IN_KEY or self._at is _At.IN_VALUE:
            self._read_inside(character)
        elif character not in _SPACE:
            self._read_between(character)

    def _read_between(self, character: str) -> None:
        at = self._at
        if at is _At.OBJECT and character == "{":
            self._at = _At.KEY
        elif at is _At.KEY and character == '"':
            self._at, self._value, self._in_string = _At.IN_KEY, [character], True
        elif at is _At.COLON and character == ":":
            self._at = _At.VALUE
        elif at is _At.VALUE and character not in ",:}]<":
            self._begin_value(character)
        elif at is _At.COMMA and character == ",":
            self._at = _At.KEY
        elif at in (_At.COMMA, _At.KEY) and character == "}":
            self._at, self.is_done = _At.END, True
        else:
            self.is_broken = True

    def _begin_value(self, character: str) -> None:
        self._at, self._value = _At.IN_VALUE, []
        self._depth = 1 if character in _OPEN else 0
        self._in_string = character == '"'
        self._keep(character)

    def _read_inside(self, character: str) -> None:
        if self._in_string:
            self._keep(character)
            if self._escaped:
                self._escaped = False
            elif character == "\\":
                self._escaped = True
            elif character == '"':
                self._in_string = False
                self._end_if_whole()
            return
        if self._depth == 0:  # a number or a word: ends before what follows it
            if character in _SPACE or character in ",}":
                self._end()
                self._read(character)
            elif character in '<"{[':
                self.is_broken = True
            else:
                self._keep(character)
            return
        if character == "<":  # never outside a string
            self.is_broken = True
            return
        self._keep(character)
        self._in_string = character == '"'
        self._depth += (character in _OPEN) - (character in _CLOSE)
        self._end_if_whole()

    def _keep(self, character: str) -> None:
        self._value.append(character)
        if self._at is _At.IN_VALUE and self._key == self._arguments_key:
            (self._early if self.name is None else self.arguments).append(character)

    def _end_if_whole(self) -> None:
        if self._depth == 0 and not self._in_string:
            self._end()

    def _end(self) -> None:
        text = "".join(self._value)
        if self._at is _At.IN_KEY:
            self._at, self._key = _At.COLON, _text(text) or ""
            return
        self._at = _At.COMMA
        if self._key == "name":
            self.name = _text(text) or None
            self.is_broken = self.name is None
            self.arguments += self._early
            self._early = []


class CallReader:
    """Reads one call after the other; what turns out to be none before it has a name is given back as text."""

    def __init__(self, arguments_key: str) -> None:
        self._arguments_key = arguments_key
        self._scanner: CallScanner | None = None
        self._raw: list[str] = []
        self._index = -1

    @property
    def is_reading(self) -> bool:
        """Whether a call has begun and is not over."""
        return self._scanner is not None

    @property
    def found_any(self) -> bool:
        """Whether a call has been named."""
        return self._index >= 0

    def begin(self, before: str) -> None:
        """A call begins behind the text `before`, which belongs to it."""
        self._scanner, self._raw = CallScanner(self._arguments_key), [before]

    def push(self, text: str, deltas: CallDeltas) -> tuple[str, str]:
        """Read characters of the call; gives those that no longer belong to it, and the text of what was none."""
        scanner = self._scanner
        assert scanner is not None
        was_named = scanner.name is not None
        rest = scanner.push(text)
        if not was_named:
            self._raw.append(text[: len(text) - len(rest)])
        if scanner.name is None:
            return rest, self.flush() if scanner.is_over else ""
        if not was_named:
            self._index += 1
            deltas.begin(self._index, scanner.name)
        deltas.extend(self._index, scanner.take_arguments())
        if scanner.is_over:
            self._scanner = None
        return rest, ""

    def flush(self) -> str:
        """End the call; gives its text if it has no name."""
        is_text = self._scanner is not None and self._scanner.name is None
        self._scanner = None
        return "".join(self._raw) if is_text else ""


def _text(value: str) -> str | None:
    """Give the text that JSON text says, None when it says none."""
    try:
        text = json.loads(value)
    except ValueError:
        return None
    return valid_text(text) if isinstance(text, str) else None


def valid_text(text: str) -> str:
    """Give a text without halves of surrogate pairs, which a model can write and UTF-8 cannot say."""
    return text.encode("utf-8", "replace").decode("utf-8")


def json_text(value: Any) -> str:
    """Give a value as JSON text. Raises ValueError for a number that JSON cannot say."""
    return valid_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
