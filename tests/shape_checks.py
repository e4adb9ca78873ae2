"""Turns on the shape checks: annotations of the mathematics are enforced in every module imported after this one."""

from jaxtyping import install_import_hook

install_import_hook(["vela_jax.layers", "vela_jax.backbones", "vela_jax.heads"], "beartype.beartype")
