"""Requests that a benchmark sends: texts that no cache has seen, in the form of each surface."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

WORDS = [
    "river",
    "signal",
    "copper",
    "morning",
    "ledger",
    "window",
    "border",
    "engine",
    "garden",
    "theory",
    "market",
    "winter",
    "violin",
    "planet",
    "shadow",
    "kernel",
    "harbor",
    "ticket",
    "lantern",
    "method",
    "circle",
    "season",
    "packet",
    "bridge",
    "forest",
    "answer",
    "random",
    "vector",
    "island",
    "summer",
    "number",
    "letter",
]
PATHS = {
    "classify": "/v1/classify",
    "embeddings": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "decisions": "/v1/decisions",
}


def texts(words: int, seed: int = 0) -> Iterator[str]:
    """Endless different texts of so many words."""
    source = random.Random(seed)
    while True:
        yield " ".join(source.choices(WORDS, k=words))


def bodies(card: Mapping[str, Any], surface: str, count: int, words: int, seed: int = 0) -> list[dict[str, Any]]:
    """Different requests for a model's surface."""
    source = texts(words, seed)
    return [{"model": card["id"], **_body(card, surface, next(source), next(source))} for _ in range(count)]


def _body(card: Mapping[str, Any], surface: str, text: str, other: str) -> dict[str, Any]:
    if surface == "rerank":
        return {"query": text[:60], "documents": [text, other]}
    if surface == "decisions":
        question = {"type": "noul", "instructions": "This is about a river."}
        return {"state": text, "questions": {"river": question}}
    if surface == "classify" and "grounded" in card["heads"][0]["inputs"]:
        return {"input": [{"context": text, "answer": other[:80]}]}
    return {"input": [text]}
