"""Rotary position embedding: frequencies of the default and YaRN kinds, tables for a length, and the rotation.

Frequencies and angles are rounded to FP32 where the reference implementation rounds them: at position 32,767 one
unit in the last place of an angle is 2e-3 radians, so a table from more exact angles would be another model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from vela_jax.layers.config import ConfigReader

ROPE_TYPES: Final = ("default", "yarn")


@dataclass(frozen=True, slots=True)
class Yarn:
    """YaRN scaling, complete (Vela 1.0 format, section 4.3)."""

    factor: float
    original_max_position_embeddings: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None

    @property
    def attention_scale(self) -> float:
        """The factor on both cos and sin."""
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return self._magnitude(self.mscale) / self._magnitude(self.mscale_all_dim)
        return self._magnitude(1.0)

    def _magnitude(self, mscale: float) -> float:
        return 1.0 if self.factor <= 1 else 0.1 * mscale * math.log(self.factor) + 1.0

    def ramp_bounds(self, width: int, theta: float) -> tuple[int, float]:
        """The frequency indices between which frequencies pass from unscaled to scaled."""

        def index(rotations: float) -> float:
            turns = self.original_max_position_embeddings / (2 * math.pi * rotations)
            return width * math.log(turns) / (2 * math.log(theta))

        low = max(math.floor(index(self.beta_fast)), 0)
        high = float(min(math.ceil(index(self.beta_slow)), width - 1))
        return low, high + 0.001 if low == high else high


@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary parameters of one kind of layer; `yarn` is None for the default kind."""

    theta: float
    yarn: Yarn | None = None

    @property
    def attention_scale(self) -> float:
        """The factor on both cos and sin."""
        return 1.0 if self.yarn is None else self.yarn.attention_scale

    def inverse_frequencies(self, width: int) -> NDArray[np.float32]:
        """Radians a position, for each of the `width` / 2 pairs of channels."""
        exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
        powers = np.power(self.theta, exponents.astype(np.float64)).astype(np.float32)
        unscaled: NDArray[np.float32] = np.float32(1.0) / powers
        if self.yarn is None:
            return unscaled
        low, high = self.yarn.ramp_bounds(width, self.theta)
        indices = np.arange(width // 2, dtype=np.float32)
        ramp = np.clip((indices - np.float32(low)) / np.float32(high - low), 0, 1)
        scaled = np.float32(1.0) / (np.float32(self.yarn.factor) * powers)
        kept = np.float32(1.0) - ramp
        mixed: NDArray[np.float32] = scaled * (np.float32(1.0) - kept) + unscaled * kept
        return mixed


class RopeTable(NamedTuple):
    """cos and sin of each token's angles, times the attention scale."""

    cos: Float[np.ndarray, "T H/2"] | Float[jax.Array, "T H/2"]
    sin: Float[np.ndarray, "T H/2"] | Float[jax.Array, "T H/2"]


def rope_table(rope: Rope, length: int, width: int) -> RopeTable:
    """The tables of positions 0 .. `length` - 1 for heads of `width` channels; constants of a compiled length."""
    positions = np.arange(length, dtype=np.float32)
    angles = (positions[:, None] * rope.inverse_frequencies(width)[None, :]).astype(np.float64)
    scale = np.float32(rope.attention_scale)
    return RopeTable(np.cos(angles).astype(np.float32) * scale, np.sin(angles).astype(np.float32) * scale)


def rotate(x: Float[jax.Array, "B T N H"], table: RopeTable) -> Float[jax.Array, "B T N H"]:
    """Rotate each pair (channel j, channel j + H/2) by its position's angle."""
    cos, sin = table.cos[None, :, None, :], table.sin[None, :, None, :]
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def read_rope(values: Mapping[str, Any], where: str, *, theta: float, max_positions: int) -> Rope:
    """The rotary parameters of a package's object at `where`; `theta` is used when it names none.

    Raises ConfigError for a `rope_type` other than `default` and `yarn`, and for values that are not numbers.
    """
    reader = ConfigReader(values, where)
    kind = reader.choice("rope_type" if reader.get("rope_type") is not None else "type", ROPE_TYPES, "default")
    base = reader.positive("rope_theta", theta)
    if kind == "default":
        return Rope(base)
    if base <= 1:
        raise reader.error("rope_theta", "above 1 for yarn")
    original = reader.integer("original_max_position_embeddings", max_positions)
    return Rope(
        base,
        Yarn(
            factor=_unless_zero(reader, "factor", max_positions / original),
            original_max_position_embeddings=original,
            beta_fast=_unless_zero(reader, "beta_fast", 32.0),
            beta_slow=_unless_zero(reader, "beta_slow", 1.0),
            attention_factor=reader.number("attention_factor"),
            mscale=reader.number("mscale"),
            mscale_all_dim=reader.number("mscale_all_dim"),
        ),
    )


def _unless_zero(reader: ConfigReader, key: str, default: float) -> float:
    """A positive number; zero, like an absent value, stands for the default."""
    return default if reader.get(key) == 0 else reader.positive(key, default)
