"""What a model says of itself on `GET /v1/models` (HTTP contract, section 12): the family's part."""

from __future__ import annotations

from typing import Any

import msgspec

from vela_jax.contract import Surface


class WindowCard(msgspec.Struct, frozen=True):
    """Default window of a head."""

    tokens: int
    overlap: int


class HeadCard(msgspec.Struct, frozen=True, kw_only=True):
    """A head of a classify model."""

    name: str
    kind: str
    labels: list[str]
    inputs: list[str]
    default_threshold: float | None = None
    thresholds: list[float] | None = None
    overflow: str = "reject"
    window: WindowCard | None = None
    reduction: str | None = None
    operating_point_sha256: str | None = None


class EmbeddingCard(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedder offers."""

    dimensions: list[int]
    layers: list[int]
    modalities: list[str]
    normalized: bool
    pooling: str
    input_types: list[str]


class ExitCard(msgspec.Struct, frozen=True):
    """An exit of a reranker."""

    layer: int
    dimension: int


class RerankCard(msgspec.Struct, frozen=True, kw_only=True):
    """Exits of a reranker and the one used when none is asked for."""

    exits: list[ExitCard]
    default: ExitCard


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The family's part of a model card."""

    family: str
    surfaces: list[Surface]
    limits: dict[str, Any]
    parameters: int
    dtype: str = "fp32"
    question_types: list[str] = []
    presets: list[str] | None = None
    modalities: list[str] | None = None
    image_placements: list[str] | None = None  # where an image may stand: state, instructions, criteria
    usage: str | None = None  # "state_once" where a request counts its state once
    heads: list[HeadCard] | None = None
    embedding: EmbeddingCard | None = None
    rerank: RerankCard | None = None
