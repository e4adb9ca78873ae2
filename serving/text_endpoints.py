"""The endpoints that render and derender: they need no device."""

from __future__ import annotations

from enum import StrEnum


class TextEndpoint(StrEnum):
    """An endpoint by its path."""

    RENDER_CHAT = "/v1/chat/completions/render"
    RENDER_COMPLETION = "/v1/completions/render"
    DERENDER_CHAT = "/v1/chat/completions/derender"
    DERENDER_COMPLETION = "/v1/completions/derender"
