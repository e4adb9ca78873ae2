"""The mixture of tasks that a student is trained on and judged by."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from bench.mini.tasks import choices, nouls, relevance, scores, sets, spans
from bench.mini.tasks.example import Example
from bench.mini.texts.split import Split

Draw = Callable[[random.Random, Split], Example]
SHARES: Final[Mapping[Draw, float]] = MappingProxyType(
    {
        choices.topic: 0.11,
        choices.scheme: 0.13,
        choices.field: 0.04,
        choices.sort: 0.05,
        choices.meaning: 0.05,
        choices.help_of: 0.01,
        nouls.topic: 0.08,
        nouls.kind: 0.13,
        nouls.mention: 0.06,
        nouls.support: 0.05,
        relevance.noul: 0.02,
        sets.topic: 0.04,
        sets.mention: 0.04,
        sets.matter: 0.04,
        sets.tool: 0.02,
        spans.personal: 0.08,
        scores.level: 0.05,
    }
)
"""Chance of each task."""


def examples(seed: int, split: Split) -> Iterator[Example]:
    """Examples without end; equal seeds give equal ones."""
    rng = random.Random(seed)
    draws, shares = list(SHARES), list(SHARES.values())
    while True:
        yield rng.choices(draws, shares)[0](rng, split)


def held(count: int, seed: int = 7) -> list[Example]:
    """A set to be judged by: every task by its share, and pairs of scores in place of lone ones."""
    rng = random.Random(seed)
    found: list[Example] = []
    for draw, share in SHARES.items():
        times = max(2, round(count * share))
        if draw is scores.level:
            for place in range(max(1, times // 2)):
                found += scores.pair(rng, Split.HELD, f"pair-{place}")
        else:
            found += [draw(rng, Split.HELD) for _ in range(times)]
    return found
