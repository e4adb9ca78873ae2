"""The endpoints of text: those that render and derender, which need no device, and the one that generates."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

GENERATE: Final = "/inference/v1/generate"
"""The endpoint that generates."""


class TextEndpoint(StrEnum):
    """An endpoint by its path."""

    RENDER_CHAT = "/v1/chat/completions/render"
    RENDER_COMPLETION = "/v1/completions/render"
    DERENDER_CHAT = "/v1/chat/completions/derender"
    DERENDER_COMPLETION = "/v1/completions/derender"
