"""`/v1/embeddings` of a pooled text embedder (Vela 1.0 format, section 12)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import Answer, InvalidRequest, ItemError, Readout, Result, Row
from vela_jax.families.task_heads.facts import MAX_INPUTS, Facts
from vela_jax.families.task_heads.items import Failed, Item, Outputs, Planned, outcomes, plan_each, rows_of
from vela_jax.families.task_heads.reading import Texts, read_single
from vela_jax.families.task_heads.spec import PooledSpec
from vela_jax.surfaces.requests import EmbeddingsRequest
from vela_jax.surfaces.usage import ItemUsage

FORMATS = ("float", "base64")
OVERFLOWS = ("reject", "truncate")
NORM_EPSILON = 1e-12  # Vela 1.0 format, section 12.2


@dataclass(frozen=True, slots=True)
class Representation:
    """What a vector is: its exit, its width, its norm and its form on the wire."""

    layer: int
    dimension: int
    normalized: bool
    encoding_format: str

    def vector(self, pooled: NDArray[np.float32]) -> list[float] | str:
        """Cut, normalise and encode a pooled row [D]."""
        vector = pooled[: self.dimension].astype(np.float64)
        if self.normalized:
            vector = vector / (np.linalg.norm(vector) + NORM_EPSILON)
        narrow = vector.astype("<f4")
        if self.encoding_format == "base64":
            return base64.b64encode(narrow.tobytes()).decode("ascii")
        values: list[float] = narrow.tolist()
        return values


@dataclass(frozen=True, slots=True)
class EmbeddingsPlan:
    """A read request."""

    items: tuple[Item, ...]
    representation: Representation
    model_sha256: str

    @property
    def rows(self) -> Sequence[Row]:
        """One row an input that could be read."""
        return rows_of(self.items)

    def assemble(self, results: Sequence[Result]) -> Answer:
        """Vectors in input order; an input that was read keeps its counts even when it has no vector."""
        found = outcomes(self.items, results)
        data = [self._entry(*place) for place in zip(range(len(found)), self.items, found, strict=True)]
        tokens = sum(item.usage.processed for item in self.items if isinstance(item, Planned))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        shown = self.representation
        meta = {
            "model_sha256": self.model_sha256,
            "layer": shown.layer,
            "dimension": shown.dimension,
            "normalized": shown.normalized,
        }
        return Answer({"object": "list", "data": data, "usage": usage}, {"representation": meta}, tokens)

    def _entry(self, index: int, item: Item, outcome: Outputs | ItemError) -> dict[str, Any]:
        entry: dict[str, Any] = {"object": "embedding", "index": index}
        if isinstance(outcome, ItemError):
            entry["error"] = str(outcome)
        else:
            entry["embedding"] = self.representation.vector(outcome[0])
        if isinstance(item, Planned):
            entry["input"] = item.usage.to_json()
        return entry


def plan_embeddings(request: EmbeddingsRequest, spec: PooledSpec, texts: Texts, facts: Facts) -> EmbeddingsPlan:
    """Check what the model offers, then read every text with its prompt before it."""
    representation = _representation(request, spec)
    prompt = _prompt(request, spec)
    budget = _budget(request, facts.max_input_tokens)
    truncate = request.options.overflow == "truncate"
    readout = Readout(f"pooled.{representation.layer}", representation.layer)
    inputs = _inputs(request.input)
    items = plan_each(inputs, lambda text: _plan_text(texts, readout, prompt + text, budget, truncate=truncate))
    return EmbeddingsPlan(items, representation, facts.model_sha256)


def _plan_text(texts: Texts, readout: Readout, text: str, budget: int, *, truncate: bool) -> Item:
    size = texts.single.size
    reading = read_single(texts, text, budget, "truncate" if truncate else "reject")
    if isinstance(reading, Failed):
        return Failed(reading.error)
    tokens = len(reading.ids) + size
    if tokens > budget and budget <= size:
        return Failed(ItemError.MAX_LENGTH_EXCEEDED)
    ids = texts.single.frame(reading.ids[: budget - size])
    if not len(ids):
        return Failed(ItemError.INVALID_INPUT)  # no token and no special tokens: there is nothing to pool
    usage = ItemUsage(tokens, len(ids), truncated=len(ids) < tokens, lower_bound=not reading.complete)
    return Planned((Row(ids, readout),), usage, lambda _: {})


def _representation(request: EmbeddingsRequest, spec: PooledSpec) -> Representation:
    dimension = spec.dimensions[0] if request.dimensions is None else request.dimensions
    if dimension not in spec.dimensions:
        raise InvalidRequest(f"dimensions must be one of {list(spec.dimensions)}, got {dimension}")
    layer = spec.layers[-1] if request.layer is None else request.layer
    if layer not in spec.layers:
        raise InvalidRequest(f"layer must be one of {list(spec.layers)}, got {layer}")
    if request.encoding_format not in FORMATS:
        raise InvalidRequest(f"encoding_format must be one of {list(FORMATS)}, got {request.encoding_format!r}")
    return Representation(layer, dimension, spec.normalized, request.encoding_format)


def _prompt(request: EmbeddingsRequest, spec: PooledSpec) -> str:
    if request.input_type is None:
        return ""
    if request.input_type not in spec.prompts:
        raise InvalidRequest(f"input_type must be one of {sorted(spec.prompts)}, got {request.input_type!r}")
    return spec.prompts[request.input_type]


def _budget(request: EmbeddingsRequest, limit: int) -> int:
    if request.options.overflow not in OVERFLOWS:
        raise InvalidRequest(f"options.overflow must be one of {list(OVERFLOWS)}, got {request.options.overflow!r}")
    budget = limit if request.options.max_tokens is None else request.options.max_tokens
    if not 1 <= budget <= limit:
        raise InvalidRequest(f"options.max_tokens must be 1 to {limit}, got {budget}")
    return budget


def _inputs(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise InvalidRequest("input must be a text or a list of texts and content parts")
    if not 1 <= len(value) <= MAX_INPUTS:
        raise InvalidRequest(f"input must hold 1 to {MAX_INPUTS} items, got {len(value)}")
    return [_text(f"input[{index}]", part) for index, part in enumerate(value)]


def _text(place: str, part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise InvalidRequest(f"{place} must be a text or a content part")
    if part.get("type") != "text":
        raise InvalidRequest(f"{place}.type must be 'text': this model embeds no {part.get('type')!r}")
    if set(part) != {"type", "text"} or not isinstance(part["text"], str):
        raise InvalidRequest(f"{place} must have the members type and text, text a string")
    return str(part["text"])
