"""Chat templates of packages, run by Transformers in its sandbox; the library is imported with the first chat."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from vela_jax.generation.refusals import BadValue

DEFAULT: Final = "default"
TOOL_USE: Final = "tool_use"
# A template that loops over a message's content reads it in parts.
_LOOPS_OVER_CONTENT: Final = re.compile(
    r"\{%-?\s*for\s+\w+\s+in\s+(?:message\s*(?:\.\s*content\b|\[\s*['\"]content['\"]\s*\])|content\b)"
)
MESSAGE_SHOWN: Final = 300


class ChatTemplate:
    """The templates of one package, of which a conversation with tools may have its own."""

    def __init__(self, templates: Mapping[str, str]) -> None:
        self._templates = templates

    def source(self, *, has_tools: bool) -> str:
        """Give the template's text. Raises BadValue when the package has none."""
        if has_tools and TOOL_USE in self._templates:
            return self._templates[TOOL_USE]
        try:
            return self._templates[DEFAULT]
        except KeyError:
            raise BadValue("the model's package has no chat template: render its prompt as a completion") from None

    @staticmethod
    def reads_parts(source: str) -> bool:
        """Whether the template wants content as a list of parts, not as one text."""
        return _LOOPS_OVER_CONTENT.search(source) is not None

    @staticmethod
    def render(source: str, messages: list[dict[str, Any]], tools: Any, variables: Mapping[str, Any]) -> str:
        """Give the conversation as text. Raises BadValue with what the template said."""
        from transformers.utils.chat_template_utils import render_jinja_template

        try:
            rendered: Any = render_jinja_template([messages], tools=tools, chat_template=source, **variables)
        except Exception as error:  # a template can raise whatever an expression can
            raise BadValue(f"the chat template cannot write this conversation: {_shown(error)}") from error
        text: str = rendered[0][0]
        return text


def _shown(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= MESSAGE_SHOWN else f"{text[:MESSAGE_SHOWN]}..."
