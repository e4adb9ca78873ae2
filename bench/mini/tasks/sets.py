"""Sets: several topics, matters or sorts of things in one text, and texts with none of those offered."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from bench.mini.tasks.example import Ask, Example
from bench.mini.tasks.options import Named, question, show
from bench.mini.texts.classes import Option, Scheme, schemes
from bench.mini.texts.lexicon import sorts
from bench.mini.texts.slots import fill, vary
from bench.mini.texts.split import Split, choose
from bench.mini.texts.tables import sentences
from bench.mini.texts.topics import about, topics

_TOPICS: Final = (
    "Which topics come up?",
    "What is the text about? Several may fit.",
    "Select all subjects that are touched.",
    "Mark every matching field.",
)
_MENTIONS: Final = (
    "What is mentioned?",
    "Which of these occur in the text?",
    "Select everything that the text names.",
    "Which kinds of things appear?",
)
_MATTERS: Final = (
    "Which matters are raised?",
    "What does the customer write about? Pick all.",
    "Select every label that applies.",
    "What are the problems?",
    "Which of these does the message contain?",
)
_TOOLS: Final = ("Which tools are needed?", "Select all helpers that the task calls for.", "What has to be used?")
_JOINS: Final = (" ", " Also: ", " And another thing. ", " Besides, ", "\n")
_JOINED: Final = frozenset({"account", "bug_report"})  # first options of the closed sets about a customer's matters
_TOOL: Final = "calculator"


def topic(rng: random.Random, split: Split) -> Example:
    """Topics of up to two sentences."""
    options = rng.sample(topics(split), rng.randint(3, 6))
    count = rng.choice((0, 1, 1, 2, 2))
    true = options[:count]
    inside = true or rng.sample([each for each in topics(split) if each not in options], 1)
    return _example(" ".join(about(each, rng, split) for each in inside), options, true, _TOPICS, rng)


def mention(rng: random.Random, split: Split) -> Example:
    """Sorts of things that a sentence mentions."""
    options = rng.sample(sorts(), rng.randint(3, 6))
    count = rng.choice((0, 1, 2, 2))
    true = options[:count]
    inside = true or rng.sample([each for each in sorts() if each not in options], 1)
    frames = sentences("pairs" if len(inside) == 2 else "mentions")
    frame = rng.choice(choose(frames, split) or frames)
    for each in inside:
        frame = frame.replace("{}", rng.choice(each.of(split)), 1)
    return _example(fill(frame, rng, split), options, true, _MENTIONS, rng)


def matter(rng: random.Random, split: Split) -> Example:
    """What a customer writes about, in one or two sentences."""
    return _joined(
        rng.choice([each for each in schemes() if each.options[0].names[0] in _JOINED]), _MATTERS, rng, split
    )


def tool(rng: random.Random, split: Split) -> Example:
    """Tools that a task needs; of one that can be answered at once, none."""
    found = next(each for each in schemes() if each.options[0].names[0] == _TOOL)
    return _joined(Scheme(found.wordings, found.options[:-1]), _TOOLS, rng, split, found.options[-1])


def _joined(
    scheme: Scheme, wordings: Sequence[str], rng: random.Random, split: Split, none: Option | None = None
) -> Example:
    options = rng.sample(scheme.options, rng.randint(3, len(scheme.options)))
    true = options[: rng.choice((0, 1, 1, 2, 2))]
    left = [each for each in scheme.options if each not in options] if none is None else [none]
    if not true and not left:
        true = options[:1]
    inside = true or rng.sample(left, 1)
    texts = [each.text(rng, split) for each in inside]
    return _example(rng.choice(_JOINS).join(texts), options, true, wordings, rng)


def _example(
    text: str, options: Sequence[Named], true: Sequence[Named], wordings: Sequence[str], rng: random.Random
) -> Example:
    shown = show(options, rng)
    gold = tuple(sorted(shown.places[each.names[0]] for each in true))
    ask = Ask("set", question("set", rng.choice(wordings), dict(shown.criteria)), gold)
    return Example(vary(text, rng), (ask,))
