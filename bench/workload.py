"""Requests that a benchmark sends: texts that no cache has seen, in the form of each surface."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

WORDS: Final = (
    *("river", "signal", "copper", "morning", "ledger", "window", "border", "engine"),
    *("garden", "theory", "market", "winter", "violin", "planet", "shadow", "kernel"),
    *("harbor", "ticket", "lantern", "method", "circle", "season", "packet", "bridge"),
    *("forest", "answer", "random", "vector", "island", "summer", "number", "letter"),
)
PATHS: Final = MappingProxyType(
    {
        "classify": "/v1/classify",
        "embeddings": "/v1/embeddings",
        "rerank": "/v1/rerank",
        "decisions": "/v1/decisions",
    }
)


@dataclass(frozen=True, slots=True)
class Mix:
    """Texts of `least` to `most` words; short ones are as frequent as long ones on a logarithmic scale."""

    least: int
    most: int

    def draw(self, source: random.Random) -> int:
        """Words of one text."""
        return round(math.exp(source.uniform(math.log(self.least), math.log(self.most))))

    def within(self, limit: int) -> Mix:
        """The same texts where they fit a model's limit of tokens; a word is taken to be up to two tokens."""
        most = max(1, min(self.most, limit // 2 - 8))
        return Mix(min(self.least, most), most)


MIXES: Final = MappingProxyType({"short": Mix(3, 120), "medium": Mix(100, 500), "long": Mix(500, 3000)})
"""`short` is what routers send: questions and paragraphs."""


def texts(words: int, seed: int = 0) -> Iterator[str]:
    """Endless different texts of so many words."""
    return texts_of(Mix(words, words), seed)


def texts_of(mix: Mix, seed: int = 0) -> Iterator[str]:
    """Endless texts of a mix."""
    source = random.Random(seed)
    while True:
        yield " ".join(source.choices(WORDS, k=mix.draw(source)))


def requests(card: Mapping[str, Any], surface: str, count: int, mix: Mix, seed: int = 0) -> list[tuple[str, bytes]]:
    """Different requests (path, JSON body) for a model's surface; a text is no longer than the model takes."""
    source = texts_of(mix.within(card["limits"]["max_input_tokens"]), seed)
    members = ({"model": card["id"], **_body(card, surface, next(source), next(source))} for _ in range(count))
    return [(PATHS[surface], json.dumps(each).encode()) for each in members]


def takes_grounded(card: Mapping[str, Any]) -> bool:
    """Whether the model's head judges an answer against a context."""
    return any("grounded" in head["inputs"] for head in card.get("heads") or ())


def _body(card: Mapping[str, Any], surface: str, text: str, other: str) -> dict[str, Any]:
    if surface == "rerank":
        return {"query": text[:60], "documents": [text, other]}
    if surface == "decisions":
        question = {"type": "noul", "instructions": "This is about a river."}
        return {"state": text, "questions": {"river": question}}
    if surface == "classify" and takes_grounded(card):
        return {"input": [{"context": text, "answer": other[:80]}]}
    return {"input": [text]}
