"""Texts whose answers are compared bit for bit, the requests that carry them, and their answers cut out again."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.workload import PATHS, WORDS, takes_grounded

SHORTEST: Final = "a"
SPARE: Final = 0.96  # share of the room that a text is planned to fill: tokens a word vary
QUERY: Final = "a fixed query"
BATCH_SIZES: Final = (1, 2, 3, 5, 8, 13, 21, 32)
SURFACES: Final = ("embeddings", "classify", "rerank")


@dataclass(frozen=True, slots=True)
class Subject:
    """A served model and the surface that it is asked on; answers travel as exact text."""

    model: str
    surface: str
    grounded: bool
    room: int  # most tokens of a text

    @property
    def path(self) -> str:
        """Where it is asked."""
        return PATHS[self.surface]

    def body(self, texts: Sequence[str]) -> bytes:
        """A request with one item a text."""
        members: dict[str, Any] = {"model": self.model}
        if self.surface == "rerank":
            members |= {"query": QUERY, "documents": list(texts)}
        elif self.grounded:
            members |= {"input": [{"answer": text} for text in texts], "options": {"return_tokens": True}}
        elif self.surface == "embeddings":
            members |= {"input": list(texts), "encoding_format": "base64"}
        else:
            members |= {"input": list(texts)}
        return json.dumps(members).encode()


def subject_of(card: Mapping[str, Any], most_tokens: int) -> Subject:
    """How a model is asked: as an embedder, else a classifier, else a reranker. ValueError for none of these."""
    surface = next((name for name in SURFACES if name in card["surfaces"]), None)
    if surface is None:
        raise ValueError(f"{card['id']} serves {', '.join(card['surfaces'])}; one of {', '.join(SURFACES)} is needed")
    limit = card["limits"]["max_input_tokens"]
    return Subject(card["id"], surface, takes_grounded(card), min(limit, most_tokens))


def answers_by_place(reply: bytes) -> list[str]:
    """Each item's own part of an answer in the order of the request, its numbers as they were written."""
    members = json.loads(reply, parse_float=str, parse_int=str)
    entries = members.get("results") or members["data"]
    by_place = {int(entry.pop("index")): json.dumps(entry, sort_keys=True) for entry in entries}
    return [by_place[place] for place in range(len(by_place))]


def read_tokens(reply: bytes) -> int:
    """Tokens of a request, as its answer counts them."""
    usage = json.loads(reply)["usage"]
    return int(next(usage[name] for name in ("prompt_tokens", "input_tokens", "total_tokens") if name in usage))


@dataclass(frozen=True, slots=True)
class TokenRate:
    """Tokens of a text by its words: so many for each beside so many in any case (special tokens, a query)."""

    fixed: float
    a_word: float

    @classmethod
    def between(cls, few: tuple[int, int], many: tuple[int, int]) -> TokenRate:
        """From the (words, tokens) of a short and of a longer text."""
        a_word = (many[1] - few[1]) / (many[0] - few[0])
        return cls(few[1] - few[0] * a_word, a_word)

    def words(self, tokens: int) -> float:
        """Words that need no more than this room, mostly; at least one."""
        return max(1.0, SPARE * (tokens - self.fixed) / self.a_word)


def make_texts(count: int, most_words: float, seed: int) -> list[str]:
    """Different texts from one letter to `most_words`, as many short as long ones on a logarithmic scale."""
    source = random.Random(seed)
    sizes = [most_words, *(math.exp(source.uniform(0, math.log(most_words))) for _ in range(count))]
    drawn = (" ".join(source.choices(WORDS, k=max(1, round(size)))) for size in sizes)
    return [SHORTEST, *drawn][:count]


def make_batches(answers: int, texts: int, seed: int) -> list[list[int]]:
    """Requests with so many items together: random sizes, members and orders; the same text may come twice."""
    source = random.Random(seed)
    batches = []
    while answers > 0:
        size = min(answers, source.choice(BATCH_SIZES))
        batches.append([source.randrange(texts) for _ in range(size)])
        answers -= size
    return batches
