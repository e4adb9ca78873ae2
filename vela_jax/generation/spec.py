"""What decides how a generator runs, beside its weights: its text side and the options of its models file entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from vela_jax.generation.profile import Profile

FAMILY = "generator"


class EngineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How sequences run.

    `max_num_seqs` go on at once; `kv_cache_gib` holds their keys and values, one sequence of full length at least.
    `max_queued` sequences more may wait. With `priority` a request's `priority` goes before its arrival.
    """

    max_num_seqs: int = 64
    kv_cache_gib: float = 1.0
    max_queued: int = 1024
    scheduling: Literal["fcfs", "priority"] = "fcfs"
    prefix_caching: bool = True
    report_cached_tokens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GeneratorSpec:
    """A generator as its package and its options describe it; `parameters` are those of the network."""

    profile: Profile
    options: EngineOptions
