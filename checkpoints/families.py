"""Families of models: of what a package's network consists, where its weights lie, and what serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from checkpoints.files import PackageError
from checkpoints.keymaps import (
    BACKBONES,
    CLASSIFIER_HEAD,
    MARKED_ENCODER,
    MARKER_HEAD_PREFIXES,
    RELEVANCE_SCORERS,
    merged,
)
from checkpoints.loading import Source
from checkpoints.readers.options import TaskHeadsOptions
from checkpoints.readers.reranker import SCORERS
from checkpoints.weights import TensorFile
from vela_jax.backbones.modernbert import ModernBertConfig
from vela_jax.families.task_heads import model as task_heads
from vela_jax.families.task_heads.facts import FAMILY as TASK_HEADS
from vela_jax.families.task_heads.facts import Facts
from vela_jax.families.task_heads.networks import build_network as build_task_heads_network
from vela_jax.families.task_heads.reading import Texts
from vela_jax.families.task_heads.spec import RelevanceSpec
from vela_jax.families.vela2.model import FAMILY as VELA2
from vela_jax.families.vela2.model import EncoderModel
from vela_jax.families.vela2.network import EncoderNetwork
from vela_jax.families.vela2.spec import EncoderSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flax import nnx

    from checkpoints.files import PackageFolder
    from checkpoints.package import LoadedPackage
    from checkpoints.readers.reading import Reading
    from vela_jax.contract import Plan, Surface
    from vela_jax.surfaces.card import Description

FAMILIES: Final = (TASK_HEADS, VELA2)
WEIGHTS: Final = "model.safetensors"


class ServedModel(Protocol):
    """A family's model as the server sees it."""

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Validate, render and tokenize. Raises InvalidRequest or UnsupportedSurface."""

    def describe(self) -> Description:
        """The family's part of the card."""


def build_network(reading: Reading, rngs: nnx.Rngs) -> nnx.Module:
    """The network of a package, its parameters random."""
    if isinstance(reading.spec, EncoderSpec):
        assert isinstance(reading.backbone, ModernBertConfig)
        return EncoderNetwork(reading.backbone, reading.spec.head, rngs=rngs)
    return build_task_heads_network(reading.backbone, reading.spec, rngs=rngs)


def open_sources(folder: PackageFolder, reading: Reading) -> list[Source]:
    """The checkpoint files of a package, their headers checked. Raises PackageError."""
    weights = TensorFile.open(folder, WEIGHTS)
    if isinstance(reading.spec, EncoderSpec):
        return [Source(weights, MARKED_ENCODER, partial=True, strict=MARKER_HEAD_PREFIXES)]
    backbone = merged((BACKBONES[reading.model_type], CLASSIFIER_HEAD))
    sources = [Source(weights, backbone, reading.weight_prefix)]
    if isinstance(reading.spec, RelevanceSpec):
        scorers = TensorFile.open(folder, SCORERS)
        sources.append(Source(scorers, RELEVANCE_SCORERS, partial=True, counted=False))
    return sources


def build_model(loaded: LoadedPackage, platform: str) -> ServedModel:
    """What plans and answers with a loaded package on a platform. Raises EnvelopeError."""
    depth = loaded.backbone.num_hidden_layers
    parameters = loaded.provenance.parameters
    if isinstance(loaded.spec, EncoderSpec):
        return EncoderModel(loaded.spec, loaded.tokenizer, depth, parameters, platform)
    texts = Texts.of(loaded.tokenizer)
    texts.reader.check()  # so that the first long text does not wait for it
    facts = Facts(loaded.max_input_tokens, parameters, loaded.provenance.model_sha256)
    return task_heads.build_model(loaded.spec, texts, depth, facts)


def answers_as_released(options: Mapping[str, Any]) -> bool:
    """Whether a model with these options of the models file gives the answers that were recorded without any."""
    return TaskHeadsOptions.from_mapping(options) == TaskHeadsOptions() and "noul_calibration" not in options


def require_served(family: str, repo: str) -> None:
    """Refuse a built-in of a family that is not here."""
    if family not in FAMILIES:
        raise PackageError(f"{repo} is of the family {family}; this server has {', '.join(FAMILIES)}")
