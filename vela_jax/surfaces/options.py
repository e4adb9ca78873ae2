"""Members of `options` that every surface shares (HTTP contract, section 3.3)."""

from __future__ import annotations

import math

import msgspec
from msgspec import UNSET, UnsetType

from vela_jax.contract import InvalidRequest


class Options(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Options that every surface takes."""

    deadline_ms: float | UnsetType = UNSET
    return_meta: bool = False
    profile: str = "exact"

    def check(self) -> None:
        """Refuse values that are of the right type and still not allowed."""
        if self.deadline_ms is not UNSET and not (math.isfinite(self.deadline_ms) and self.deadline_ms > 0):
            raise InvalidRequest(f"options.deadline_ms must be a finite number above 0, got {self.deadline_ms}")
        if self.profile != "exact":
            raise InvalidRequest(f"options.profile must be 'exact', got {self.profile!r}")
