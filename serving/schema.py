"""The schemas of the System One endpoints (System One semantics, section 12)."""

from __future__ import annotations

from enum import StrEnum


class Schema(StrEnum):
    """What the System One endpoints of a process read and answer."""

    V5 = "vllm-sr/5.0"
    V4 = "vllm-sr/4.0"
