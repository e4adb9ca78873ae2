"""What a task-heads model of any kind reports of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vela_jax.contract import Surface
from vela_jax.surfaces.card import Description

FAMILY = "task_heads"
MAX_INPUTS = 2048


@dataclass(frozen=True, slots=True)
class Facts:
    """Bounds and identity of a loaded package."""

    max_input_tokens: int
    parameters: int
    model_sha256: str

    def describe(self, surfaces: list[Surface], **members: Any) -> Description:
        """The family's part of the card."""
        limits = {"max_input_tokens": self.max_input_tokens, "max_inputs": MAX_INPUTS}
        return Description(family=FAMILY, surfaces=surfaces, limits=limits, parameters=self.parameters, **members)
