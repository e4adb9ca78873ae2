"""Nouls: what a text is about, does, mentions, states or denies; as many true ones as false ones."""

from __future__ import annotations

import random
from typing import Final

from bench.mini.tasks.example import Ask, Example
from bench.mini.tasks.options import question
from bench.mini.texts.classes import schemes
from bench.mini.texts.lexicon import sorts
from bench.mini.texts.slots import fill, fill_all, vary
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import cells, sentences
from bench.mini.texts.topics import about, topics

_TOPIC: Final = (
    "Is this about {}?",
    "Does the text deal with {}?",
    "The message concerns {}.",
    "Is the user asking about {}?",
    "The topic is {}.",
    "Would an expert on {} answer this?",
)
_MENTION: Final = (
    "Is {} mentioned in the text?",
    "Does the text mention {}?",
    "The text names {}.",
    "Is there {} in the text?",
    "Does {} occur in this sentence?",
)
_SUPPORT: Final = (
    "Is the answer supported by the source?",
    "Does the source say what the answer says?",
    "The answer follows from the source.",
    "Can the answer be found in the text?",
    "Is the answer faithful to the document?",
)
_STATED: Final = ("{}", "The text says: {}", "Is it true, according to the text, that the following holds? {}")
_CRITERIA: Final = (
    ("No", "Yes"),
    ("It is not so", "It is so"),
    ("The text does not say that", "The text says that"),
    ("This does not apply", "This applies"),
)


def topic(rng: random.Random, split: Split) -> Example:
    """Whether a sentence is about a topic."""
    own, other = rng.sample(topics(split), 2)
    truth = rng.random() < 0.5
    asked = rng.choice((own if truth else other).names)
    return _example(vary(about(own, rng, split), rng), rng.choice(_TOPIC).format(asked), truth, rng)


def kind(rng: random.Random, split: Split) -> Example:
    """Whether a sentence is what an option of a closed set says."""
    options = [option for option in rng.choice(schemes()).options if option.nouls]
    asked = rng.choice(options)
    truth = rng.random() < 0.5
    text = asked if truth else rng.choice([option for option in options if option is not asked])
    return _example(vary(text.text(rng, split), rng), rng.choice(asked.nouls), truth, rng)


def mention(rng: random.Random, split: Split) -> Example:
    """Whether something of a sort is mentioned."""
    own, other = rng.sample(sorts(), 2)
    truth = rng.random() < 0.5
    word = rng.choice((own if truth else other).of(split))
    text = fill(rng.choice(choose(sentences("mentions"), split)).replace("{}", word), rng, split)
    return _example(text, rng.choice(_MENTION).format(rng.choice(own.asked)), truth, rng)


def support(rng: random.Random, split: Split) -> Example:
    """Whether a source backs an answer, or a text a statement."""
    lines = rng.choice(choose(cells("facts"), split, lambda row: row[0]))
    truth = rng.random() < 0.5
    claim = 1 if truth else rng.choice((2, 2, 3))
    fact, said = fill_all([lines[0], lines[claim]], rng, split)
    if truth and rng.random() < 0.2:
        fact, said = said, fact
    if rng.random() < 0.5:
        other = fill(rng.choice(choose(cells("facts"), split, lambda row: row[0]))[0], rng, split)
        fact = f"{fact} {other}" if rng.random() < 0.5 else f"{other} {fact}"
    if rng.random() < 0.6:
        state = {rng.choice(("source", "context", "document")): fact, rng.choice(("answer", "response")): said}
        return _example(state, rng.choice(_SUPPORT), truth, rng)
    return _example(fact, rng.choice(_STATED).format(said), truth, rng)


def _example(state: object, text: str, truth: bool, rng: random.Random) -> Example:
    criteria = None
    if rng.random() < 0.25:
        false, true = rng.choice(_CRITERIA)
        criteria = {"false": false, "true": true}
    return Example(state, (Ask("noul", question("noul", text, criteria), int(truth)),))
