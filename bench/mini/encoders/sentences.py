"""What the embedder reads: sentences and phrases of every source, and pairs of them that it is judged by."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench.mini.tasks import relevance
from bench.mini.tasks.choices import glossed, is_plain
from bench.mini.tasks.example import Example
from bench.mini.tasks.mixture import examples
from bench.mini.tasks.relevance import Degree
from bench.mini.texts.classes import schemes
from bench.mini.texts.dictionary import Entry
from bench.mini.texts.slots import fill_all, vary
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import cells
from bench.mini.texts.topics import about, topics

Draw = Callable[[random.Random, Split], str]
_SHORTEST_USE: Final = 20


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts; `near` where they have to do with each other."""

    first: str
    second: str
    near: bool


def texts(seed: int, count: int, split: Split = Split.TRAIN) -> list[str]:
    """Different texts, half of them of the dictionary; equal seeds give equal ones."""
    rng = random.Random(seed)
    drawn = (rng.choice(DRAWS)(rng, split) for _ in range(count))
    return list(dict.fromkeys(drawn))


def decision_texts(seed: int, count: int) -> list[str]:
    """States and options of the decision model's examples: their vectors are kept already where it was trained."""
    made = itertools.islice(examples(seed, Split.TRAIN), count)
    return list(dict.fromkeys(text for example in made for text in _of_decision(example)))


def pairs(seed: int, count: int, split: Split = Split.HELD) -> list[TextPair]:
    """Pairs of texts, every second one of two that have to do with each other."""
    rng = random.Random(seed)
    found = []
    for _ in range(count // 2):
        found.append(TextPair(rng.choice(DRAWS)(rng, split), rng.choice(DRAWS)(rng, split), near=False))
        found.append(TextPair(*rng.choice(NEAR)(rng, split), near=True))
    return found


def gloss(rng: random.Random, split: Split) -> str:
    """What a word means."""
    return rng.choice(glossed(split)).gloss


def use(rng: random.Random, split: Split) -> str:
    """A phrase with a word in use."""
    entry = rng.choice(glossed(split))
    fitting = [each for each in entry.uses if len(each) >= _SHORTEST_USE and is_plain(each)]
    return rng.choice(fitting) if fitting else entry.gloss


def on_topic(rng: random.Random, split: Split) -> str:
    """A sentence about a topic."""
    return vary(about(rng.choice(topics(split)), rng, split), rng)


def message(rng: random.Random, split: Split) -> str:
    """A sentence that an option of a closed set is right for."""
    return rng.choice(rng.choice(schemes()).options).text(rng, split)


def request_or_document(rng: random.Random, split: Split) -> str:
    """One side of a search."""
    made = relevance.pair(rng, split, rng.choice(list(Degree)))
    return rng.choice((made.request, made.document))


def stated(rng: random.Random, split: Split) -> str:
    """A fact, or what is said about it."""
    return rng.choice(facts(rng, split))


def facts(rng: random.Random, split: Split) -> list[str]:
    """A fact, the same in other words, what contradicts it, what it does not say."""
    return fill_all(rng.choice(choose(cells("facts"), split, lambda row: row[0])), rng, split)


def word_and_gloss(rng: random.Random, split: Split) -> tuple[str, str]:
    """A word and what it means."""
    entry: Entry = rng.choice(glossed(split))
    return rng.choice(entry.words), entry.gloss


def _same_topic(rng: random.Random, split: Split) -> tuple[str, str]:
    topic = rng.choice(topics(split))
    return about(topic, rng, split), rng.choice((about(topic, rng, split), rng.choice(topic.descriptions)))


def _same_set(rng: random.Random, split: Split) -> tuple[str, str]:
    options = rng.choice(schemes()).options
    return rng.choice(options).text(rng, split), rng.choice(options).text(rng, split)


def _searched(rng: random.Random, split: Split) -> tuple[str, str]:
    made = relevance.pair(rng, split, rng.choice((Degree.CLOSE, Degree.FULL)))
    return made.request, made.document


def _of_one_fact(rng: random.Random, split: Split) -> tuple[str, str]:
    first, *others = facts(rng, split)
    return first, rng.choice(others)


def _of_decision(example: Example) -> Iterator[str]:
    ask = example.asks[0]
    if ask.kind in ("choice", "set") and isinstance(example.state, str):
        yield example.state
        criteria = ask.raw["criteria"]
        yield from (
            f"{key}: {text}".replace("_", " ") if text else key.replace("_", " ") for key, text in criteria.items()
        )


DRAWS: Final[tuple[Draw, ...]] = (
    *(gloss, gloss, use, use, on_topic, message),
    *(gloss, use, on_topic, message, request_or_document, stated),
)
NEAR: Final = (_same_topic, _same_set, _searched, _of_one_fact, word_and_gloss)
