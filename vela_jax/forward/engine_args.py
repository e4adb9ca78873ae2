"""How an engine runs a model: `engine_args` of the models file and of the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from vela_jax.forward.buckets import COUNTS, LENGTHS, Ladder

BATCH_TOKENS: Final[Mapping[str, int]] = {"cpu": 1024}
"""Padded tokens of one forward by platform, where more gain nothing; elsewhere the largest."""
LARGEST_BATCH: Final = 65536


Precision = Literal["float32", "bfloat16"]


class MeshArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Over how many devices a model is split: `tensor` of them hold the heads and channels of every layer."""

    tensor: int = 1

    def __post_init__(self) -> None:
        if self.tensor < 1:
            raise ValueError(f"tensor must be at least 1, got {self.tensor}")


class EngineArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings that decide speed and numerics, never what is answered.

    `exact` runs rows together only where the probe proved on this host that they keep their bits. `throughput`
    runs rows of one length bucket together without a proof. `warmup` lists the lengths whose buckets are ready
    before the model is; `background` those that follow while it serves. `max_batch_tokens` bounds the padded tokens
    of a forward; null means what suits the device. `dtype` is that of a backbone's kernels and token tables: released
    answers need float32, bfloat16 halves their memory. `mesh` splits them over devices; null means one device.
    """

    batching: Literal["exact", "throughput"] = "exact"
    length_buckets: tuple[int, ...] = LENGTHS
    row_buckets: tuple[int, ...] = COUNTS
    max_batch_tokens: int | None = None
    warmup: tuple[int, ...] = (16, 32, 64, 128)
    background: tuple[int, ...] = (48, 96, 192, 256, 384, 512)
    dtype: Precision = "float32"
    mesh: MeshArgs | None = None

    def __post_init__(self) -> None:
        Ladder(self.length_buckets)
        Ladder(self.row_buckets)
        if self.max_batch_tokens is not None and self.max_batch_tokens < 1:
            raise ValueError(f"max_batch_tokens must be at least 1, got {self.max_batch_tokens}")
        for name, lengths in (("warmup", self.warmup), ("background", self.background)):
            if any(length < 1 for length in lengths):
                raise ValueError(f"{name} lengths must be at least 1, got {list(lengths)}")

    @property
    def numerics(self) -> Literal["exact", "approximate"]:
        """`exact` where no other row of a forward can change an answer, at the precision of the release."""
        return "exact" if self.batching == "exact" and self.dtype == "float32" else "approximate"

    @property
    def devices(self) -> int:
        """How many devices hold the model."""
        return 1 if self.mesh is None else self.mesh.tensor

    def batch_tokens(self, platform: str) -> int:
        """Padded tokens of one forward on a platform."""
        return self.max_batch_tokens or BATCH_TOKENS.get(platform, LARGEST_BATCH)


def read_engine_args(values: Mapping[str, Any], defaults: EngineArgs | None = None) -> EngineArgs:
    """Give the settings of a models-file entry over the process defaults; ValueError names a bad member."""
    base = msgspec.to_builtins(defaults or EngineArgs())
    try:
        return msgspec.convert({**base, **values}, EngineArgs)
    except msgspec.ValidationError as error:
        raise ValueError(f"engine_args: {error}") from None
