"""What the `ask` command needs of whoever answers: a model's card, and an answer with its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its bytes as they came, and the milliseconds of its phases by name."""

    content: bytes
    phases: Mapping[str, float]


class Answering(Protocol):
    """A model that can be asked, here or elsewhere."""

    def card(self) -> Mapping[str, Any]:
        """The card of the model. Raises CommandFailed."""

    def ask(self, surface: str, body: Mapping[str, Any]) -> Reply:
        """Answer a request. Raises CommandFailed with the refusal."""

    def close(self) -> None:
        """Let go of it."""


def read_phases(header: str) -> dict[str, float]:
    """Milliseconds by phase of a `Server-Timing` header; entries of another form are passed over."""
    phases = {}
    for entry in header.split(","):
        name, _, duration = entry.strip().partition(";dur=")
        try:
            phases[name] = float(duration)
        except ValueError:
            continue
    return phases
