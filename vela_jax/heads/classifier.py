"""The classifier head: logits of a pooled row, or of every token (Vela 1.0 format, section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
from flax import nnx
from jaxtyping import Float

from vela_jax.layers.activations import ACTIVATIONS
from vela_jax.layers.config import ConfigReader
from vela_jax.layers.linear import Linear
from vela_jax.layers.norms import LayerNorm


@dataclass(frozen=True, slots=True)
class ClassifierConfig:
    """The values of `config.json` that decide the head, by their own names, and the number of labels."""

    hidden_size: int
    num_labels: int
    classifier_activation: str
    classifier_bias: bool
    norm_eps: float
    norm_bias: bool

    @classmethod
    def from_package(cls, config: Mapping[str, Any], num_labels: int) -> ClassifierConfig:
        """Read a parsed `config.json`. Raises ConfigError for what this head does not compute."""
        reader = ConfigReader(config)
        return cls(
            hidden_size=reader.integer("hidden_size"),
            num_labels=num_labels,
            classifier_activation=reader.choice("classifier_activation", ACTIVATIONS, "gelu"),
            classifier_bias=reader.flag("classifier_bias", default=False),
            norm_eps=reader.positive("norm_eps", 1e-5),
            norm_bias=reader.flag("norm_bias", default=False),
        )


class ClassifierHead(nnx.Module):
    """classifier(norm(act(dense(h))))."""

    def __init__(self, config: ClassifierConfig, *, rngs: nnx.Rngs) -> None:
        hidden = config.hidden_size
        self.dense = Linear(hidden, hidden, bias=config.classifier_bias, rngs=rngs)
        self.norm = LayerNorm(hidden, eps=config.norm_eps, bias=config.norm_bias)
        self.classifier = Linear(hidden, config.num_labels, bias=True, rngs=rngs)
        self.activation = config.classifier_activation

    def __call__(self, hidden: Float[jax.Array, "*tokens D"]) -> Float[jax.Array, "*tokens C"]:
        """Logits of pooled rows [B D] or of tokens [B S D]."""
        return self.classifier(self.norm(ACTIVATIONS[self.activation](self.dense(hidden))))
