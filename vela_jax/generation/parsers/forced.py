"""Answers to a tool choice that leaves no choice: bare arguments, or a JSON array of calls (contract, section 12)."""

from __future__ import annotations

import json
from typing import Final

from vela_jax.generation.parsers.calls import CallDeltas, CallScanner, ToolCall
from vela_jax.generation.parsers.hermes import written

_BETWEEN: Final = " \t\r\n[],"


def read_array(text: str) -> list[ToolCall] | None:
    """Give the calls of a JSON array of `{name, parameters}`, None when the text is none."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list):
        return None
    calls = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            return None
        calls.append(ToolCall(item["name"], written(item.get("parameters") or {})))
    return calls


class NamedStream:
    """All text is arguments of the one tool that was demanded."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun = False

    def push(self, text: str, deltas: CallDeltas) -> str:
        """Read a part; there never is content."""
        if text and not self._begun:
            self._begun = True
            deltas.begin(0, self._name)
        deltas.extend(0, text)
        return ""

    def flush(self) -> str:
        """Give what waited in vain: nothing."""
        return ""


class ArrayStream:
    """Reads a JSON array of calls that comes in parts; text that is no such array is content."""

    def __init__(self) -> None:
        self._scanner: CallScanner | None = None
        self._index = -1
        self._raw: list[str] = []  # since the last named call
        self._broken = False

    def push(self, text: str, deltas: CallDeltas) -> str:
        """Give the content that a part adds; calls go to `deltas`."""
        content: list[str] = []
        while text and not self._broken:
            text = self._read_call(text, content, deltas) if self._scanner else self._read_between(text, content)
        return "".join(content) + text

    def flush(self) -> str:
        """Give the content that waited in vain."""
        is_unread = self._scanner is not None and self._scanner.name is None
        return self._give_up() if is_unread else ""

    def _read_between(self, text: str, content: list[str]) -> str:
        rest = text.lstrip(_BETWEEN)
        self._raw.append(text[: len(text) - len(rest)])
        if rest.startswith("{"):
            self._scanner = CallScanner("parameters")
        elif rest:
            content.append(self._give_up())
        return rest

    def _read_call(self, text: str, content: list[str], deltas: CallDeltas) -> str:
        scanner = self._scanner
        assert scanner is not None
        was_named = scanner.name is not None
        rest = scanner.push(text)
        if not was_named:
            self._raw.append(text[: len(text) - len(rest)])
        if scanner.name is None:
            if scanner.is_over:
                content.append(self._give_up())
            return rest
        if not was_named:
            self._index += 1
            self._raw = []
            deltas.begin(self._index, scanner.name)
        deltas.extend(self._index, scanner.take_arguments())
        if scanner.is_over:
            self._scanner = None
        return rest

    def _give_up(self) -> str:
        self._scanner, self._broken = None, True
        raw, self._raw = "".join(self._raw), []
        return raw
