"""The backbones by the `model_type` of a package's `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from flax import nnx

from vela_jax.backbones.bert import Bert, BertConfig
from vela_jax.backbones.modernbert import ModernBert, ModernBertConfig
from vela_jax.backbones.qwen3 import Qwen3, Qwen3Config
from vela_jax.backbones.qwen3_5 import Qwen35, Qwen35Config
from vela_jax.layers.config import ConfigError

AnyConfig = BertConfig | ModernBertConfig | Qwen3Config | Qwen35Config
AnyBackbone = Bert | ModernBert | Qwen3 | Qwen35

CONFIGS: Final[Mapping[str, type[AnyConfig]]] = MappingProxyType(
    {"bert": BertConfig, "modernbert": ModernBertConfig, "qwen3": Qwen3Config, "qwen3_5_text": Qwen35Config}
)


def backbone_config(model_type: str, config: Mapping[str, Any]) -> AnyConfig:
    """The backbone config of a parsed `config.json`. Raises ConfigError."""
    if model_type not in CONFIGS:
        raise ConfigError(f"config.json: model_type must be one of {', '.join(sorted(CONFIGS))}; found {model_type!r}")
    return CONFIGS[model_type].from_package(config)


def build(config: AnyConfig, rngs: nnx.Rngs) -> AnyBackbone:
    """A backbone with random parameters; under `nnx.eval_shape`, its abstract tree."""
    match config:
        case BertConfig():
            return Bert(config, rngs=rngs)
        case ModernBertConfig():
            return ModernBert(config, rngs=rngs)
        case Qwen3Config():
            return Qwen3(config, rngs=rngs)
        case Qwen35Config():
            return Qwen35(config, rngs=rngs)
