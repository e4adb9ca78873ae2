"""Backbones: one file an architecture, what they have in common, and the registry by `model_type`."""

from vela_jax.backbones.backbone import Backbone, BackboneConfig
from vela_jax.backbones.registry import backbone_config, build
from vela_jax.layers.config import ConfigError

__all__ = ["Backbone", "BackboneConfig", "ConfigError", "backbone_config", "build"]
