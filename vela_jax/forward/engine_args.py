"""How an engine runs a model: `engine_args` of the models file and of the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from vela_jax.forward.buckets import COUNTS, LENGTHS, Ladder


class EngineArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings that decide speed and numerics, never what is answered.

    `exact` runs one row a forward, so that no other row can touch a row's bits. `throughput` runs rows of one
    length bucket together. `warmup` lists the length buckets that are compiled before the model is ready.
    """

    batching: Literal["exact", "throughput"] = "exact"
    length_buckets: tuple[int, ...] = LENGTHS
    row_buckets: tuple[int, ...] = COUNTS
    max_batch_tokens: int = 65536
    warmup: tuple[int, ...] = (16, 32, 64, 128)

    def __post_init__(self) -> None:
        Ladder(self.length_buckets)
        Ladder(self.row_buckets)
        if self.max_batch_tokens < 1:
            raise ValueError(f"max_batch_tokens must be at least 1, got {self.max_batch_tokens}")
        if any(length < 1 for length in self.warmup):
            raise ValueError(f"warmup lengths must be at least 1, got {list(self.warmup)}")

    @property
    def numerics(self) -> Literal["exact", "approximate"]:
        """Whether other rows of a forward can change an answer by rounding."""
        return "exact" if self.batching == "exact" else "approximate"


def read_engine_args(values: Mapping[str, Any], defaults: EngineArgs | None = None) -> EngineArgs:
    """Give the settings of a models-file entry over the process defaults; ValueError names a bad member."""
    base = msgspec.to_builtins(defaults or EngineArgs())
    try:
        return msgspec.convert({**base, **values}, EngineArgs)
    except msgspec.ValidationError as error:
        raise ValueError(f"engine_args: {error}") from None
