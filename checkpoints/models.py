"""From a loaded package to what plans and answers with it, by its family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from vela_jax.families.task_heads import model as task_heads
from vela_jax.families.task_heads.facts import Facts
from vela_jax.families.task_heads.reading import Texts
from vela_jax.families.vela2.decoder_model import DecoderModel
from vela_jax.families.vela2.model import EncoderModel
from vela_jax.families.vela2.spec import DecoderSpec, EncoderSpec
from vela_jax.generation.model import GeneratorModel
from vela_jax.generation.spec import GeneratorSpec

if TYPE_CHECKING:
    from checkpoints.package import LoadedPackage
    from vela_jax.contract import Plan, Surface
    from vela_jax.surfaces.card import Description


class ServedModel(Protocol):
    """A family's model as the server sees it."""

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Validate, render and tokenize. Raises InvalidRequest or UnsupportedSurface."""

    def describe(self) -> Description:
        """The family's part of the card."""


def build_model(loaded: LoadedPackage, platform: str) -> ServedModel:
    """What plans and answers with a loaded package on a platform. Raises EnvelopeError."""
    depth = loaded.backbone.num_hidden_layers
    parameters = loaded.provenance.parameters
    if isinstance(loaded.spec, EncoderSpec):
        return EncoderModel(loaded.spec, loaded.tokenizer, depth, parameters, platform)
    if isinstance(loaded.spec, DecoderSpec):
        return DecoderModel(loaded.spec, loaded.tokenizer, depth, parameters, platform)
    if isinstance(loaded.spec, GeneratorSpec):
        return GeneratorModel(loaded.spec, parameters)
    texts = Texts.of(loaded.tokenizer)
    texts.reader.check()  # so that the first long text does not wait for it
    facts = Facts(loaded.max_input_tokens, parameters, loaded.provenance.model_sha256)
    return task_heads.build_model(loaded.spec, texts, depth, facts)
