"""Reading of what a model wrote: its reasoning, its tool calls, and the answer itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

REASONING_PARSERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"qwen3": ("<think>", "</think>")})
"""Names of reasoning parsers, and the marks that each looks for."""
TOOL_PARSERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"hermes": ("<tool_call>", "</tool_call>")})
"""Names of tool-call parsers, and the marks that each looks for."""
