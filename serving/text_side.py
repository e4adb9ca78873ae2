"""The text side of a served generator: what renders its prompts and derenders its answers, weights aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Self

from serving.text_endpoints import TextEndpoint
from vela_jax.generation.derendering.derenderer import (
    Derenderer,
    read_chat_chunk,
    read_completion_chunk,
    read_whole_chat,
    read_whole_completion,
)
from vela_jax.generation.derendering.requests import is_stream
from vela_jax.generation.profile import Profile
from vela_jax.generation.refusals import BadBody
from vela_jax.generation.rendering.renderer import Renderer, read_chat, read_completion
from vela_jax.surfaces.shown import kind_of


@dataclass(frozen=True, slots=True)
class TextSide:
    """Renders and derenders for one model. May be used from any thread."""

    renderer: Renderer
    derenderer: Derenderer

    @classmethod
    def of(cls, profile: Profile, name: str) -> Self:
        """Build from a package's profile; answers name the model `name`."""
        return cls(Renderer(profile), Derenderer(profile, name))


Work = Callable[[TextSide], Any]
"""What is left of a request once it is read: its answer by a model."""


def read_text_request(endpoint: TextEndpoint, body: Any) -> tuple[str | None, Work]:
    """Give the model that a decoded body names, and what it asks of it. Raises BadBody or BadValue."""
    if not isinstance(body, dict):
        raise BadBody(f"the body must be an object, got {kind_of(body)}", "body")
    model = body.get("model")
    if not isinstance(model, str | None):
        raise BadBody(f"body.model must be a text or null, got {kind_of(model)}", "body.model")
    return model or None, _READERS[endpoint](body)


def _render_chat(body: dict[str, Any]) -> Work:
    request = read_chat(body)
    return lambda side: side.renderer.chat(body, request)


def _render_completion(body: dict[str, Any]) -> Work:
    request = read_completion(body)
    return lambda side: side.renderer.completions(request)


def _derender_chat(body: dict[str, Any]) -> Work:
    if is_stream(body):
        chunk, of_chunk = read_chat_chunk(body)
        return lambda side: side.derenderer.chat_chunk(chunk, of_chunk)
    request, chat = read_whole_chat(body)
    return lambda side: side.derenderer.chat(request, chat)


def _derender_completion(body: dict[str, Any]) -> Work:
    if is_stream(body):
        chunk, of_chunk = read_completion_chunk(body)
        return lambda side: side.derenderer.completion_chunk(chunk, of_chunk)
    request, completion = read_whole_completion(body)
    return lambda side: side.derenderer.completions(request, completion)


_READERS: Final[Mapping[TextEndpoint, Callable[[dict[str, Any]], Work]]] = MappingProxyType(
    {
        TextEndpoint.RENDER_CHAT: _render_chat,
        TextEndpoint.RENDER_COMPLETION: _render_completion,
        TextEndpoint.DERENDER_CHAT: _derender_chat,
        TextEndpoint.DERENDER_COMPLETION: _derender_completion,
    }
)
