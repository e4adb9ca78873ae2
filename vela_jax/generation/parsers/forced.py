"""Answers to a tool choice that leaves no choice: bare arguments, or a JSON array of calls (contract, section 12)."""

from __future__ import annotations

import json
from typing import Any, Final

from vela_jax.generation.parsers.calls import CallDeltas, CallReader, ToolCall, json_text, valid_text

_BETWEEN: Final = " \t\r\n[],"


def read_array(text: str) -> list[ToolCall] | None:
    """Give the calls of a JSON array of `{name, parameters}`, None when the text is none."""
    try:
        items = json.loads(text)
        calls = [_call_of(item) for item in items] if isinstance(items, list) else []
    except (ValueError, RecursionError):
        return None
    read = [call for call in calls if call is not None]
    return read if read and len(read) == len(calls) else None


def _call_of(item: Any) -> ToolCall | None:
    name = item.get("name") if isinstance(item, dict) else None
    return (
        ToolCall(valid_text(name), json_text(item.get("parameters") or {})) if isinstance(name, str) and name else None
    )


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
        self._calls = CallReader("parameters")
        self._between: list[str] = []  # what stands before the next call
        self._is_text = False

    def push(self, text: str, deltas: CallDeltas) -> str:
        """Give the content that a part adds; calls go to `deltas`."""
        content: list[str] = []
        while text and not self._is_text:
            if self._calls.is_reading:
                text, given_back = self._calls.push(text, deltas)
                self._is_text = bool(given_back)
                content.append(given_back)
            else:
                text = self._read_between(text, content)
        return "".join(content) + text

    def flush(self) -> str:
        """Give the content that waited in vain."""
        return self._calls.flush()

    def _read_between(self, text: str, content: list[str]) -> str:
        rest = text.lstrip(_BETWEEN)
        self._between.append(text[: len(text) - len(rest)])
        if rest:
            before, self._between = "".join(self._between), []
            if rest.startswith("{"):
                self._calls.begin(before)
            else:
                self._is_text = True
                content.append(before)
        return rest
