"""Tool calls as Hermes writes them, `<tool_call>` JSON `</tool_call>` (token-in/token-out contract, section 12)."""

from __future__ import annotations

import json
from typing import Any, Final

from vela_jax.generation.parsers.calls import CallDeltas, CallReader, ToolCall, json_text, valid_text
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


def _read_call(text: str) -> tuple[ToolCall, str] | None:
    """Give the call at the beginning of a text and what follows; its end mark may be missing at the very end."""
    try:
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(_SPACE)))
        call = _call_of(value)
    except (ValueError, RecursionError):
        return None
    rest = text[end:].lstrip(_SPACE)
    if call is None or (rest and not rest.startswith(END)):
        return None
    return call, rest.removeprefix(END)


def _call_of(value: Any) -> ToolCall | None:
    if not isinstance(value, dict) or "arguments" not in value:
        return None
    name = value.get("name")
    return ToolCall(valid_text(name), json_text(value["arguments"])) if isinstance(name, str) and name else None


class HermesStream:
    """Reads text that comes in parts; text behind the first call that is no call itself is dropped."""

    def __init__(self) -> None:
        self._search = MarkSearch(START)
        self._calls = CallReader("arguments")

    def push(self, text: str, deltas: CallDeltas) -> str:
        """Give the content that a part adds; calls go to `deltas`."""
        content: list[str] = []
        while text:
            if self._calls.is_reading:
                text, given_back = self._calls.push(text, deltas)
                content.append(given_back)
            else:
                before, after = self._search.push(text)
                content.append("" if self._calls.found_any else before)
                if after is not None:
                    self._calls.begin(START)
                text = after or ""
        return "".join(content)

    def flush(self) -> str:
        """Give the content that waited in vain."""
        held = self._calls.flush() + self._search.flush()
        return "" if self._calls.found_any and not held.startswith(START) else held
