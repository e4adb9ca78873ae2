"""Families of models: of what a package's network consists, and where its weights lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError
from checkpoints.keymaps import (
    BACKBONES,
    CLASSIFIER_HEAD,
    DECISIONS_DECODER,
    DECODER_HEAD_PREFIXES,
    MARKED_ENCODERS,
    MARKER_HEAD_PREFIXES,
    RELEVANCE_SCORERS,
    merged,
)
from checkpoints.keymaps.causal import TIED, UNTIED
from checkpoints.loading import Source
from checkpoints.readers.causal import weight_files
from checkpoints.readers.options import TaskHeadsOptions
from checkpoints.readers.reranker import SCORERS
from checkpoints.weights import TensorFile
from vela_jax.backbones.bert import BertConfig
from vela_jax.backbones.decoder import CausalLM, DecoderConfig
from vela_jax.backbones.modernbert import ModernBertConfig
from vela_jax.backbones.qwen3_5 import Qwen35Config
from vela_jax.families.task_heads.facts import FAMILY as TASK_HEADS
from vela_jax.families.task_heads.networks import build_network as build_task_heads_network
from vela_jax.families.task_heads.spec import RelevanceSpec
from vela_jax.families.vela2.decoder_network import DecoderNetwork
from vela_jax.families.vela2.model import FAMILY as VELA2
from vela_jax.families.vela2.network import EncoderNetwork
from vela_jax.families.vela2.spec import DecoderSpec, EncoderSpec
from vela_jax.generation.spec import FAMILY as GENERATOR
from vela_jax.generation.spec import GeneratorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flax import nnx

    from checkpoints.files import PackageFolder
    from checkpoints.readers.reading import Reading

FAMILIES: Final = (TASK_HEADS, VELA2, GENERATOR)
WEIGHTS: Final = "model.safetensors"
_DECODER_PREFIX: Final = "model."


def build_network(reading: Reading, rngs: nnx.Rngs) -> nnx.Module:
    """The network of a package, its parameters random."""
    if isinstance(reading.spec, EncoderSpec):
        assert isinstance(reading.backbone, ModernBertConfig | BertConfig)
        return EncoderNetwork(reading.backbone, reading.spec.head, rngs=rngs)
    if isinstance(reading.spec, DecoderSpec):
        assert isinstance(reading.backbone, Qwen35Config)
        spec = reading.spec
        return DecoderNetwork(reading.backbone, spec.head_dim, spec.span_head, spec.broad_head, rngs=rngs)
    if isinstance(reading.spec, GeneratorSpec):
        assert isinstance(reading.backbone, DecoderConfig)
        return CausalLM(reading.backbone, rngs=rngs)
    assert not isinstance(reading.backbone, DecoderConfig)
    return build_task_heads_network(reading.backbone, reading.spec, rngs=rngs)


def open_sources(folder: PackageFolder, reading: Reading) -> list[Source]:
    """The checkpoint files of a package, their headers checked. Raises PackageError."""
    if isinstance(reading.backbone, DecoderConfig):
        return _decoder_sources(folder, reading.backbone)
    if isinstance(reading.spec, DecoderSpec):
        files = [TensorFile.open(folder, name) for name in reading.identity_files]
        return [Source(file, DECISIONS_DECODER, partial=True, strict=DECODER_HEAD_PREFIXES) for file in files]
    weights = TensorFile.open(folder, WEIGHTS)
    if isinstance(reading.spec, EncoderSpec):
        return [Source(weights, MARKED_ENCODERS[reading.model_type], partial=True, strict=MARKER_HEAD_PREFIXES)]
    backbone = merged((BACKBONES[reading.model_type], CLASSIFIER_HEAD))
    sources = [Source(weights, backbone, reading.weight_prefix)]
    if isinstance(reading.spec, RelevanceSpec):
        scorers = TensorFile.open(folder, SCORERS)
        sources.append(Source(scorers, RELEVANCE_SCORERS, partial=True, counted=False))
    return sources


def _decoder_sources(folder: PackageFolder, config: DecoderConfig) -> list[Source]:
    """The shards of a decoder. Their keys have one prefix, which a shard with the output head alone does not show."""
    files = [TensorFile.open(folder, name) for name in weight_files(folder)]
    prefixed = any(key.startswith(_DECODER_PREFIX) for file in files for key in file.tensors)
    key_map = TIED if config.tie_word_embeddings else UNTIED
    return [Source(file, key_map, _DECODER_PREFIX if prefixed else "") for file in files]


def answers_as_released(options: Mapping[str, Any]) -> bool:
    """Whether a model with these options of the models file gives the answers that were recorded without any."""
    return TaskHeadsOptions.from_mapping(options) == TaskHeadsOptions() and "noul_calibration" not in options


def require_served(family: str, repo: str) -> None:
    """Refuse a built-in of a family that is not here."""
    if family not in FAMILIES:
        raise PackageError(f"{repo} is of the family {family}; this server has {', '.join(FAMILIES)}")
