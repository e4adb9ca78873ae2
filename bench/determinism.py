"""Whether a text has one answer: alone, repeated, among others, at every place, after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from bench.process import Server, serving
from bench.workload import texts

TARGET_WORDS = (1, 5, 13, 40, 120)
COMPANY = (1, 2, 7, 32)


def distinct_answers(arguments: Sequence[str], folder: Path, repeats: int) -> dict[str, int]:
    """Number of distinct answers by target text, over every company and two server starts; 1 is what is promised."""
    seen: dict[str, set[str]] = {}
    for start in range(2):
        with serving(arguments, folder / f"determinism-{start}.log") as server:
            for name, answer in _answers(server, repeats):
                seen.setdefault(name, set()).add(answer)
    return {name: len(answers) for name, answers in seen.items()}


def _answers(server: Server, repeats: int) -> Iterator[tuple[str, str]]:
    for card in server.cards():
        surface = next(name for name in ("embeddings", "classify", "rerank") if name in card["surfaces"])
        for words in TARGET_WORDS:
            target = next(texts(words, seed=words))
            for count in COMPANY * repeats:
                for place in {0, count // 2, count}:
                    company = list(islice(texts(3 * count, seed=count), count))
                    inputs = [*company[:place], target, *company[place:]]
                    yield f"{card['id']}, {words} words", _ask(server, card, surface, inputs, place)


def _ask(server: Server, card: dict[str, Any], surface: str, inputs: list[str], place: int) -> str:
    """The target's own part of the answer, as text."""
    body: dict[str, Any] = {"model": card["id"]}
    if surface == "rerank":
        body |= {"query": "a fixed query", "documents": inputs}
    elif surface == "classify" and "grounded" in card["heads"][0]["inputs"]:
        body |= {"input": [{"answer": text} for text in inputs], "options": {"return_tokens": True}}
    else:
        body |= {"input": inputs}
    response = httpx.post(f"{server.url}/v1/{surface}", json=body, timeout=600)
    response.raise_for_status()
    members = response.json()
    entries = members.get("results") or members["data"]
    (entry,) = [entry for entry in entries if entry["index"] == place]
    del entry["index"]
    return json.dumps(entry, sort_keys=True)
