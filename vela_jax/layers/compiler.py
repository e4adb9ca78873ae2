"""Compiler options under which a row's bits do not depend on how many rows are computed together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# On CPUs the compiler hands sums and chains of elementwise operations to a second code generator, or not, by the
# size of their arrays; the two round differently, so a row's bits would change with the row count. These options
# leave the second generator the plain matrix products alone, whose bits are the same from two rows on.
_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {"cpu": MappingProxyType({"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"})}
)


def compiler_options(platform: str) -> dict[str, str | bool]:
    """The `compiler_options` of `jax.jit(...).lower(...).compile(...)` for a platform (`device.platform`)."""
    return dict(_OPTIONS.get(platform, {}))
