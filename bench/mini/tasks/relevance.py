"""Requests with documents that answer them, come close, or are about something else."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from bench.mini.tasks.example import Ask, Example
from bench.mini.tasks.options import choice, question
from bench.mini.texts.split import Split, choose
from bench.mini.texts.topics import topics


class Degree(IntEnum):
    """How well a document serves a request."""

    NONE = 0
    CLOSE = 1
    FULL = 2


@dataclass(frozen=True, slots=True)
class _Grade:
    names: tuple[str, ...]
    descriptions: tuple[str, ...]


_GRADES: Final = (
    _Grade(("off_topic", "irrelevant", "unrelated", "no"), ("It is about something else", "Another subject")),
    _Grade(("close", "related", "partly"), ("Same field, but no answer", "Related, yet it does not answer")),
    _Grade(("helps", "relevant", "answers", "yes"), ("It answers the request", "The answer is in it")),
)
_WORDINGS: Final = (
    "Is the document useful for the request?",
    "How does the document relate to the query?",
    "Judge the search result.",
    "Would this page answer the user?",
)
_SCORES: Final = (
    ("How relevant is the document?", ("Not relevant", "Partly relevant", "Highly relevant")),
    ("Rate how well the text answers the query.", ("Not at all", "Somewhat", "Fully")),
    ("How good is this search result?", ("Useless", "Related", "Exactly right")),
    ("Grade the match between query and document.", ("No match", "Weak match", "Strong match")),
)
_NOULS: Final = (
    "Does the document answer the request?",
    "Is the document relevant to the query?",
    "The document helps the user.",
    "Would the reader find the answer here?",
)
_ANSWERS: Final = (
    "To {}, begin with the basics, take your time and check the result at the end.",
    "Here is how to {}: prepare everything, follow the steps in order, then test it.",
    "A guide for those who want to {}. It lists what you need and each step.",
    "You can {} in three steps. First gather the tools, then start slowly.",
    "Beginners who {} should ask someone with experience first; the steps are below.",
    "The easiest way to {} is explained here with pictures.",
)
_QUERIES: Final = (
    "how to {}",
    "how do I {}?",
    "{}",
    "best way to {}",
    "steps to {}",
    "I need to {}",
    "help me {}",
)
_KEYS: Final = ("document", "source", "context")


@dataclass(frozen=True, slots=True)
class Pair:
    """A request and a document of a known degree."""

    request: str
    document: str
    degree: Degree


def pair(rng: random.Random, split: Split, degree: Degree) -> Pair:
    """A request about a topic with a document of the degree asked for."""
    own, other = rng.sample(topics(split), 2)
    wanted, close = rng.sample(own.acts, 2)
    act = {Degree.FULL: wanted, Degree.CLOSE: close, Degree.NONE: rng.choice(other.acts)}[degree]
    query, answer = rng.choice(choose(_QUERIES, split) or _QUERIES), rng.choice(choose(_ANSWERS, split) or _ANSWERS)
    return Pair(query.format(wanted), answer.format(act), degree)


def choice_of(rng: random.Random, split: Split) -> Example:
    """Which degree it is."""
    degree = rng.choice(list(Degree))
    return Example(_state(pair(rng, split, degree), rng), (choice(_GRADES, _GRADES[degree], _WORDINGS, rng, 0.7),))


def noul(rng: random.Random, split: Split) -> Example:
    """Whether the document answers the request."""
    degree = rng.choice((Degree.FULL, Degree.FULL, Degree.NONE, Degree.CLOSE))
    ask = Ask("noul", question("noul", rng.choice(_NOULS)), int(degree is Degree.FULL))
    return Example(_state(pair(rng, split, degree), rng), (ask,))


def score(rng: random.Random, split: Split, degree: Degree, name: str = "") -> Example:
    """The degree as a score."""
    wording, levels = rng.choice(_SCORES)
    return Example(
        _state(pair(rng, split, degree), rng), (Ask("score", question("score", wording, list(levels)), degree),), name
    )


def _state(made: Pair, rng: random.Random) -> dict[str, Any]:
    return {"request": made.request, rng.choice(_KEYS): made.document}
