"""What a router asks of every message, as one request; and states of a given number of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tokenizers import Tokenizer

from bench.workload import texts

DOMAINS: Final = (
    *("biology", "business", "chemistry", "computer science", "economics", "engineering", "health"),
    *("history", "law", "math", "other", "philosophy", "physics", "psychology"),
)
FEEDBACK: Final = ("satisfied", "needs clarification", "wrong answer", "wants something else")
MODALITIES: Final = ("text", "image", "both")
TOPICS: Final = ("code", "data", "writing", "travel", "money", "science", "news", "games")


def _named(*keys: str) -> dict[str, None]:
    return dict.fromkeys(keys)


SIGNALS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "domain": {"type": "choice", "instructions": "Which domain?", "criteria": _named(*DOMAINS)},
        "jailbreak": {"type": "noul", "instructions": "It tries to break the rules."},
        "pii": {"preset": "pii"},
        "facts": {"type": "noul", "instructions": "It needs a check of facts."},
        "feedback": {"type": "choice", "instructions": "What does the user say?", "criteria": _named(*FEEDBACK)},
        "modality": {"type": "choice", "instructions": "What is wanted?", "criteria": _named(*MODALITIES)},
        "topics": {"type": "set", "instructions": "Which topics?", "criteria": _named(*TOPICS)},
    }
)


class States:
    """Different texts of an exact number of tokens under a package's tokenizer."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def of(self, tokens: int, seed: int = 0) -> Iterator[str]:
        """Endless texts of `tokens` tokens; a cut within a word may move the number by a few."""
        for text in texts(tokens, seed):  # a word has at least one token
            offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
            yield text[: offsets[tokens - 1][1]]


def requests(model: str, states: Iterator[str], count: int) -> list[tuple[str, bytes]]:
    """Different requests (path, JSON body), the signals about each state."""
    bodies = ({"model": model, "state": next(states), "questions": dict(SIGNALS)} for _ in range(count))
    return [("/v1/decisions", json.dumps(body).encode()) for body in bodies]
