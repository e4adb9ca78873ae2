"""What a task-heads package says beside its weights: labels, pooling, operating points, exits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from vela_jax.heads.classifier import ClassifierConfig
from vela_jax.heads.pooling import Pooling

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """Kinds of packages (Vela 1.0 format, section 1)."""

    SEQUENCE = "sequence"
    SCORES = "scores"
    TOKEN = "token"
    GROUNDED = "grounded"
    POOLED = "pooled"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Packaged thresholds and reading policy of a `scores` head (Vela 1.0 format, section 10.3)."""

    thresholds: tuple[float, ...]  # one a label, label order
    strict: bool  # `score > threshold` instead of `>=`
    window: tuple[int, int] | None  # (tokens with specials, overlap in content tokens)
    max_document_tokens: int | None
    sha256: str


@dataclass(frozen=True, slots=True)
class GroundedPolicy:
    """Packaged policy of a `grounded` head (Vela 1.0 format, section 10.5)."""

    template: str  # names exactly {question} and {context}
    threshold: float
    strict: bool
    max_input_tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ClassifierSpec:
    """A package with a classifier head."""

    kind: Kind
    labels: tuple[str, ...]  # index order
    pooling: Pooling
    head: ClassifierConfig
    operating_point: OperatingPoint | None = None
    policy: GroundedPolicy | None = None


@dataclass(frozen=True, slots=True)
class PooledSpec:
    """An embedder (Vela 1.0 format, section 12.1)."""

    pooling: Pooling
    dimensions: tuple[int, ...]  # the first is the default
    layers: tuple[int, ...]  # served exits, ascending; the last is the default
    normalized: bool
    final_norm_exits: bool  # intermediate exits go through the final norm
    prompts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # by input type


@dataclass(frozen=True, slots=True, order=True)
class Exit:
    """A reranker's exit: hidden states after `layer` layers, first `dimension` channels."""

    layer: int
    dimension: int


@dataclass(frozen=True, slots=True)
class RelevanceSpec:
    """A reranker (Vela 1.0 format, section 13.1)."""

    exits: tuple[Exit, ...]  # layers ascending, dimensions descending
    default: Exit


Spec = ClassifierSpec | PooledSpec | RelevanceSpec
