"""Counts of one input: what came, what was read, what was cut (HTTP contract, section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ItemUsage:
    """Tokens of an input, special tokens included.

    `tokens` is a lower bound when the input was read in part; `processed` is what the model read.
    """

    tokens: int
    processed: int
    truncated: bool = False
    lower_bound: bool = False
    windows: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The `input` member of a result."""
        usage: dict[str, Any] = {
            "tokens": self.tokens,
            "processed_tokens": self.processed,
            "truncated": self.truncated,
        }
        if self.windows is not None:
            usage["windows"] = self.windows
        if self.lower_bound:
            usage["tokens_lower_bound"] = True
        return usage
