"""The record of one built-in model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A model whose revision, files, identity and size are pinned (runtime rules, section 10)."""

    repo: str
    revision: str  # 40 lower-case hex digits
    family: str
    backbone: str
    parameters: int
    model_sha256: str
    files: Mapping[str, str]  # relative path -> SHA-256
    min_device_memory_gib: int
    manifest_sha256: str = ""
    licence: str = "apache-2.0"
    component_licences: tuple[str, ...] = ()  # of what the package contains beside its own work

    @property
    def name(self) -> str:
        """The bare model name: the last part of the repository id."""
        return self.repo.rpartition("/")[2]
