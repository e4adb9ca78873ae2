"""Spans: personal data in sentences, and sentences without any."""

from __future__ import annotations

import random
from typing import Final

from bench.mini.tasks.example import Ask, Example
from bench.mini.tasks.options import question
from bench.mini.texts.personal import DESCRIPTIONS, Marked, carrier, clean
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import cells
from bench.mini.texts.topics import topics

CLEAN_SHARE: Final = 0.3
_TEXTS: Final = (
    "Find all personal data.",
    "Mark what identifies a person.",
    "Which parts must be hidden?",
    "Extract the private details.",
    "Who is meant and how can they be contacted?",
)


def personal(rng: random.Random, split: Split) -> Example:
    """Personal data under all labels or some of them."""
    marked = _clean(rng, split) if rng.random() < CLEAN_SHARE else carrier(rng, split)
    labels = list(DESCRIPTIONS)
    if rng.random() < 0.6:
        rng.shuffle(labels)
        labels = labels[: rng.randint(2, len(labels))]
    described = rng.random() < 0.6
    criteria = {label: rng.choice(DESCRIPTIONS[label]) if described else None for label in labels}
    gold = tuple(mark for mark in marked.spans if mark[0] in criteria)
    return Example(marked.text, (Ask("span", question("span", rng.choice(_TEXTS), criteria), gold),))


def _clean(rng: random.Random, split: Split) -> Marked:
    """A clean sentence of the table, or one about a topic in a pattern that names nobody and no day."""
    if rng.random() < 0.5:
        return clean(rng, split)
    frames = [frame for kind, frame in cells("frames") if kind == "do" and "{" not in frame.replace("{}", "")]
    frame = rng.choice(choose(frames, split) or frames)
    return Marked(frame.replace("{}", rng.choice(rng.choice(topics(split)).acts)), ())
