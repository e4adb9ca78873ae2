"""Tool calls as Hermes writes them, `<tool_call>` JSON `</tool_call>` (token-in/token-out contract, section 12)."""

from __future__ import annotations

import json
from typing import Any, Final

from vela_jax.generation.parsers.calls import CallDeltas, CallScanner, ToolCall
from vela_jax.generation.parsers.marks import MarkSearch

START: Final = "<tool_call>"
END: Final = "</tool_call>"
_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n"


def read_calls(text: str) -> tuple[str | None, list[ToolCall]]:
    """Give content and calls of a whole text; when a call cannot be read, the whole text is content."""
    content, mark, rest = text.partition(START)
    calls: list[ToolCall] = []
    while mark:
        read = _read_call(rest)
        if read is None:
            return text or None, []
        call, rest = read
        calls.append(call)
        _, mark, rest = rest.partition(START)
    return (content if content.strip() else None, calls) if calls else (text or None, [])


def written(arguments: Any) -> str:
    """Give arguments as JSON text."""
    return json.dumps(arguments, ensure_ascii=False)


def _read_call(text: str) -> tuple[ToolCall, str] | None:
    """Give the call at the beginning of a text and what follows; its end mark may be missing at the very end."""
    try:
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(_SPACE)))
    except (ValueError, RecursionError):
        return None
    rest = text[end:].lstrip(_SPACE)
    if rest and not rest.startswith(END):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return None
    if "arguments" not in value:
        return None
    return ToolCall(value["name"], written(value["arguments"])), rest.removeprefix(END)


class HermesStream:
    """Reads text that comes in parts; text behind the first call that is no call itself is dropped."""

    def __init__(self) -> None:
        self._search = MarkSearch(START)
        self._scanner: CallScanner | None = None
        self._raw: list[str] = []  # of a call without a name so far: text again if it turns out to be none
        self._index = -1

    def push(self, text: str, deltas: CallDeltas) -> str:
        """Give the content that a part adds; calls go to `deltas`."""
        content: list[str] = []
        while text:
            text = self._read_call(text, content, deltas) if self._scanner else self._read_text(text, content)
        return "".join(content)

    def flush(self) -> str:
        """Give the content that waited in vain."""
        if self._scanner is not None:
            return self._give_up() if self._scanner.name is None else ""
        held = self._search.flush()
        return held if self._index < 0 else ""

    def _read_text(self, text: str, content: list[str]) -> str:
        before, after = self._search.push(text)
        if self._index < 0:
            content.append(before)
        if after is None:
            return ""
        self._scanner, self._raw = CallScanner("arguments"), [START]
        return after

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
            deltas.begin(self._index, scanner.name)
        deltas.extend(self._index, scanner.take_arguments())
        if scanner.is_over:
            self._scanner = None
        return rest

    def _give_up(self) -> str:
        """The call was none: its text is content."""
        self._scanner = None
        return "".join(self._raw)
