"""How the parts of a state are cut so that a sequence fits the model (Vela 2.0 format, section 4.2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

LEAST_SHRUNK: Final = 64  # tokens that an unread part keeps while anything else can give way
_FRAME: Final = 3  # tokens of a sequence beside questions, labels and parts


@dataclass(frozen=True, slots=True)
class Fitted:
    """Tokens that each part keeps, from its start; `cut` are those taken from parts that a question reads."""

    kept: Mapping[str, int]  # by role, in part order
    cut: int


def fit(
    cost: int, parts: Mapping[str, int], limit: int, protected: Collection[str], shrink: str | None
) -> Fitted | None:
    """Cut parts (tokens by role, in part order) until a sequence of `limit` tokens holds them; None if none does.

    `cost` is what questions and labels take. The part `shrink`, which no question reads, gives way first, then those
    of `protected`, in order; each keeps at least one token.
    """
    kept = dict(parts)
    over = _FRAME + len(parts) + cost + sum(parts.values()) - limit
    if shrink is not None and over > 0:
        least = max(min(kept[shrink], LEAST_SHRUNK), kept[shrink] - over)
        if over - (kept[shrink] - least) > 0:
            least = max(1, kept[shrink] - over)
        over -= kept[shrink] - least
        kept[shrink] = least
    cut = 0
    for role in parts:
        if role in protected and over > 0:
            least = max(1, kept[role] - over)
            cut += kept[role] - least
            over -= kept[role] - least
            kept[role] = least
    return None if over > 0 else Fitted(kept, cut)


def unread(parts: Collection[str], protected: Collection[str]) -> str | None:
    """The first part that no question reads: the one that shrinks."""
    return next((role for role in parts if role not in protected), None)
