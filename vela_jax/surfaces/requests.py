"""Requests of the surfaces as typed records (HTTP contract, sections 6 to 10).

Only what a JSON type can say is checked here; what depends on the model (dimensions, exits, budgets)
is checked by the family that plans the request.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from vela_jax.surfaces.decisions import DecisionsOptions
from vela_jax.surfaces.options import Options


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Slices of a long text: `tokens` counts special tokens, `overlap` counts content tokens."""

    tokens: int
    overlap: int = 0


class ClassifyOptions(Options, frozen=True, kw_only=True):
    """Options of `/v1/classify`; a null or empty `overflow` means the head's own."""

    overflow: str | None = None
    max_tokens: int | UnsetType = UNSET
    window: Window | UnsetType = UNSET
    threshold: float | UnsetType = UNSET
    return_tokens: bool = False


class ClassifyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `/v1/classify`. `input` keeps its JSON form: each item is judged by itself."""

    input: Any
    model: Any = None
    head: str | None = None
    options: ClassifyOptions = msgspec.field(default_factory=ClassifyOptions)


class EmbeddingsOptions(Options, frozen=True, kw_only=True):
    """Options of `/v1/embeddings`; null is refused for `overflow` and means the default for `max_tokens`."""

    overflow: str = "reject"
    max_tokens: int | None = None


class EmbeddingsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `/v1/embeddings`; null means the default except for `encoding_format`."""

    input: Any
    model: Any = None
    dimensions: int | None = None
    layer: int | None = None
    input_type: str | None = None
    encoding_format: str = "float"
    user: Any = None
    options: EmbeddingsOptions = msgspec.field(default_factory=EmbeddingsOptions)


class RerankOptions(Options, frozen=True, kw_only=True):
    """Options of `/v1/rerank`; as those of embeddings."""

    overflow: str = "reject"
    max_tokens: int | None = None


class RerankRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `/v1/rerank`; null means the default except for `return_documents`."""

    query: str
    documents: list[str]
    model: Any = None
    top_n: int | None = None
    return_documents: bool = False
    layer: int | None = None
    dimensions: int | None = None
    options: RerankOptions = msgspec.field(default_factory=RerankOptions)


class Image(msgspec.Struct, frozen=True):
    """An image of a request: the bytes of a still PNG, JPEG or WebP file within the bounds of a source image."""

    data: bytes
    width: int  # pixels, as stored
    height: int


class Video(msgspec.Struct, frozen=True):
    """A video of a request, not yet opened."""

    data: bytes


class DecisionsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One state and the questions about it, as a family plans them; both keep their JSON form.

    References to assets are replaced: the text of the state and of the questions names an image as `[image k]`,
    k counting from 1 over `images` and then over `question_images`, those of one question alone, by its ID.
    `roles` is UNSET where an object state's keys name its parts, None where no part has a role.
    """

    state: Any
    questions: dict[str, Any]
    model: Any = None
    roles: dict[str, str] | UnsetType | None = UNSET
    images: tuple[Image, ...] = ()
    videos: tuple[Video, ...] = ()
    question_images: dict[str, tuple[Image, ...]] = msgspec.field(default_factory=dict)
    options: DecisionsOptions = msgspec.field(default_factory=DecisionsOptions)
