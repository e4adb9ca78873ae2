"""Scores on graded scales."""

from __future__ import annotations

import random

from bench.mini.tasks import relevance
from bench.mini.tasks.example import Ask, Example
from bench.mini.tasks.options import question
from bench.mini.tasks.relevance import Degree
from bench.mini.texts.classes import Scheme, scales
from bench.mini.texts.slots import vary
from bench.mini.texts.split import Split


def level(rng: random.Random, split: Split) -> Example:
    """The level of a sentence."""
    if rng.random() < 0.2:
        return relevance.score(rng, split, rng.choice(list(Degree)))
    scale = rng.choice(scales())
    return _at(scale, rng.randrange(len(scale.options)), rng, split)


def pair(rng: random.Random, split: Split, name: str) -> tuple[Example, Example]:
    """Two texts for one question, the first at its lowest level and the second at its highest."""
    seed = rng.random()
    if seed < 0.2:
        low, high = (relevance.score(random.Random(seed), split, each, name) for each in (Degree.NONE, Degree.FULL))
        return low, high
    scale = rng.choice(scales())
    low = _at(scale, 0, random.Random(seed), split, name)
    high = _at(scale, len(scale.options) - 1, random.Random(seed), split, name)
    return low, high


def _at(scale: Scheme, gold: int, rng: random.Random, split: Split, name: str = "") -> Example:
    wording, place = rng.choice(scale.wordings), rng.random()
    levels = [option.names[int(place * len(option.names))] for option in scale.options]
    text = vary(scale.options[gold].text(rng, split), rng)
    return Example(text, (Ask("score", question("score", wording, levels), gold),), name)
