"""Topics and the sentences about them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from bench.mini.texts.slots import fill
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import cells, parts


@dataclass(frozen=True, slots=True)
class Topic:
    """What a text can be about: its names, what describes it, what one does there and what one meets there."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    acts: tuple[str, ...]
    things: tuple[str, ...]

    @property
    def key(self) -> str:
        """The first name, by which the topic is known."""
        return self.names[0]


@cache
def topics(split: Split) -> tuple[Topic, ...]:
    """The topics of one side; no topic is on both."""
    read = [
        Topic(parts(names, ","), parts(descriptions, ";"), parts(acts, ";"), parts(things, ";"))
        for names, descriptions, acts, things in cells("topics")
    ]
    return choose(read, split, lambda topic: topic.key)


def about(topic: Topic, rng: random.Random, split: Split) -> str:
    """A sentence about a topic, in a pattern of the same side."""
    kind, frame = rng.choice(choose(_frames(), split, lambda pair: pair[1]))
    phrase = rng.choice(topic.acts if kind == "do" else topic.things)
    return fill(frame.replace("{}", phrase), rng, split)


@cache
def _frames() -> tuple[tuple[str, str], ...]:
    return tuple((kind, frame) for kind, frame in cells("frames"))
