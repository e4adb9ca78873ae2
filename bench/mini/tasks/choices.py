"""Choices: topics, kinds of message, meanings of words, and whether a document helps."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from bench.mini.tasks import relevance
from bench.mini.tasks.example import Example
from bench.mini.tasks.options import choice
from bench.mini.texts.classes import Scheme, schemes
from bench.mini.texts.dictionary import Entry, entries
from bench.mini.texts.relations import Field, Sort, fields, sorts
from bench.mini.texts.slots import vary
from bench.mini.texts.split import Split, choose
from bench.mini.texts.topics import about, topics

MOST_OPTIONS: Final = 7
WORDINGS: Final = (
    "What is this text about?",
    "Which topic fits best?",
    "Pick the subject of the text.",
    "Choose the field that the question belongs to.",
    "Route the request to the right expert.",
    "Which category does this fall into?",
    "What subject does the user ask about?",
    "Sort this by subject.",
    "Under which heading would you file it?",
    "Select the matching area.",
    "Which specialist should answer this?",
    "Domain of the prompt?",
)
_COARSE: Final = re.compile(
    r"sex|slang|derog|offens|obscen|genital|ethnic|slur|vulgar|drug|prostitu|kill|rape", re.IGNORECASE
)
_SORTS: Final = (
    "What kind of thing is this?",
    "What sort of thing is described?",
    "Classify the thing.",
    "Which class does it belong to?",
    "It is a kind of what?",
)
_MEANING: Final = ("Which word does this define?", "What is described here?", "Name the thing that is meant.")


@dataclass(frozen=True, slots=True)
class _Word:
    """An option made of words for one meaning."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...] = ()


def topic(rng: random.Random, split: Split) -> Example:
    """The topic of a sentence."""
    options = rng.sample(topics(split), rng.randint(2, MOST_OPTIONS))
    gold = options[0]
    text = vary(about(gold, rng, split), rng)
    return Example(text, (choice(options, gold, choose(WORDINGS, split), rng),))


def scheme(rng: random.Random, split: Split) -> Example:
    """The option of a closed set that a sentence calls for."""
    return of_scheme(rng.choice(schemes()), rng, split)


def of_scheme(chosen: Scheme, rng: random.Random, split: Split) -> Example:
    """The same, of one set."""
    gold = rng.choice(chosen.options)
    others = [option for option in chosen.options if option is not gold]
    kept = rng.sample(others, rng.randint(min(1, len(others)), min(len(others), MOST_OPTIONS - 1)))
    return Example(vary(gold.text(rng, split), rng), (choice([gold, *kept], gold, chosen.wordings, rng),))


def meaning(rng: random.Random, split: Split) -> Example:
    """The word that a gloss defines."""
    chosen = [rng.choice(glossed(split)) for _ in range(rng.randint(2, 5))]
    unique = list({entry.words[0]: entry for entry in chosen}.values())
    if len(unique) < 2:
        return meaning(rng, split)
    gold = unique[0]
    words = [_Word(entry.words) for entry in unique]
    return Example(gold.gloss, (choice(words, words[0], _MEANING, rng, 0.0),))


def field(rng: random.Random, split: Split) -> Example:
    """The field that a meaning of the dictionary belongs to."""
    if not (known := _known_fields(split)):
        return topic(rng, split)
    chosen = rng.sample(known, rng.randint(2, MOST_OPTIONS))
    entry = rng.choice(chosen[0].meanings)
    text = rng.choice((entry.gloss, entry.gloss, f"{entry.words[0]}: {entry.gloss}", *entry.uses[:1]))
    words = [_Word(each.kind.words) for each in chosen]
    return Example(text, (choice(words, words[0], choose(WORDINGS, split), rng, 0.0),))


def sort(rng: random.Random, split: Split) -> Example:
    """What a thing of the dictionary is a sort of."""
    if not (known := _known_sorts(split)):
        return topic(rng, split)
    chosen = [rng.choice(known) for _ in range(rng.randint(2, MOST_OPTIONS))]
    gold, *others = {each.kind.words: each for each in chosen}.values()
    if not others:
        return sort(rng, split)
    thing = gold.thing
    text = rng.choice((thing.gloss, f"{rng.choice(thing.words)}: {thing.gloss}", rng.choice(thing.words)))
    described = rng.random() < 0.3
    words = [_Word(each.kind.words, (each.kind.gloss,) if described else ()) for each in (gold, *others)]
    return Example(text, (choice(words, words[0], _SORTS, rng, 1.0),))


def help_of(rng: random.Random, split: Split) -> Example:
    """Whether a document helps with a request."""
    return relevance.choice_of(rng, split)


@cache
def glossed(split: Split) -> tuple[Entry, ...]:
    """Entries short enough for a row; of a machine without the dictionary, the topics in its place."""
    plain = [entry for entry in entries() if len(entry.words[0]) > 2 and is_plain(entry.gloss)]
    found = choose(plain, split, lambda entry: entry.words[0])
    return found or tuple(Entry(each.names, text) for each in topics(split) for text in each.descriptions)


def is_plain(gloss: str) -> bool:
    """Whether a gloss is short, and nothing that one would not show to anybody."""
    return 12 <= len(gloss) <= 120 and not _COARSE.search(gloss)


@cache
def _known_fields(split: Split) -> tuple[Field, ...]:
    """Fields of one side, with their plain meanings."""
    plain = (Field(each.kind, tuple(entry for entry in each.meanings if is_plain(entry.gloss))) for each in fields())
    return choose([each for each in plain if each.meanings], split, lambda each: each.kind.words[0])


@cache
def _known_sorts(split: Split) -> tuple[Sort, ...]:
    """Plain things of one side, by what they are sorts of."""
    plain = [each for each in sorts() if is_plain(each.thing.gloss) and is_plain(each.kind.gloss)]
    return choose(plain, split, lambda each: each.kind.words[0])
