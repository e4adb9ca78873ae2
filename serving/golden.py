"""The check before a model is ready: its readiness requests, twice, must give equal and well-formed answers.

No reference answers are stored, so a model that passes is `unverified` (runtime rules, section 9.3).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from vela_jax.contract import Surface
from vela_jax.surfaces.card import Description

TEXTS: Final = (
    "Write a Python function that merges two sorted lists.",
    "Meine Telefonnummer ist 030 1234567 und ich wohne in Berlin.",
)
GROUNDED: Final = {
    "context": "The Eiffel Tower is in Paris and was completed in 1889.",
    "question": "When was the Eiffel Tower completed?",
    "answer": "It was completed in 1889 in Rome.",
}
RERANK: Final = {
    "query": "How do I reset my password?",
    "documents": [
        "Open Settings, then Security, and choose Reset password.",
        "Our offices are closed on public holidays.",
    ],
}
HYPOTHESIS: Final = "This request is about programming."
DECISIONS: Final = {
    "state": TEXTS[0],
    "questions": {
        "topic": {
            "type": "choice",
            "instructions": "This request is about {label}.",
            "criteria": {"code": "programming", "math": "mathematics"},
        }
    },
}
SUM_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Golden:
    """What the card says of the check."""

    status: Literal["pending", "matched", "unverified", "failed"]
    checked: int = 0
    matched: int = 0
    reference: str | None = None


PENDING: Final = Golden("pending")
UNVERIFIED: Final = Golden("unverified")
FAILED: Final = Golden("failed")

Case = tuple[Surface, dict[str, Any]]


class GoldenCheckFailed(Exception):
    """A readiness request was answered badly, or differently when repeated."""


def cases(description: Description) -> Iterator[Case]:
    """Readiness requests of a model, by what it serves (Vela 1.0 format, section 14)."""
    if Surface.CLASSIFY in description.surfaces:
        yield from _classify_cases(description)
    if Surface.EMBEDDINGS in description.surfaces:
        yield Surface.EMBEDDINGS, {"input": list(TEXTS)}
    if Surface.RERANK in description.surfaces:
        yield Surface.RERANK, RERANK
    if Surface.DECISIONS in description.surfaces:
        yield Surface.DECISIONS, DECISIONS


def _classify_cases(description: Description) -> Iterator[Case]:
    heads = description.heads or []
    if any("grounded" in head.inputs for head in heads):
        yield Surface.CLASSIFY, {"input": [GROUNDED]}
        return
    yield Surface.CLASSIFY, {"input": list(TEXTS)}
    if Surface.DECISIONS in description.surfaces:
        yield Surface.CLASSIFY, {"input": [{"text": TEXTS[0], "text_pair": HYPOTHESIS}]}


async def check(description: Description, ask: Callable[[Surface, dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
    """Ask each readiness request twice through `ask`. Raises GoldenCheckFailed, naming the request."""
    for number, (surface, body) in enumerate(cases(description), 1):
        first, second = await ask(surface, body), await ask(surface, body)
        fault = find_fault(first) or find_fault(second)
        if fault is not None:
            raise GoldenCheckFailed(f"readiness request {number} ({surface}): {fault}")
        if first != second:
            raise GoldenCheckFailed(f"readiness request {number} ({surface}): two runs gave different answers")


def find_fault(answer: object, path: str = "answer") -> str | None:
    """Say what is not well formed in an answer: an item error, a number that is not finite, a sum that is not 1."""
    if isinstance(answer, float) and not math.isfinite(answer):
        return f"{path} is {answer}"
    if isinstance(answer, list):
        return _first(find_fault(value, f"{path}[{index}]") for index, value in enumerate(answer))
    if isinstance(answer, dict):
        if answer.get("error") is not None:
            return f"{path} failed with {answer['error']}"
        return _find_sum_fault(answer, path) or _first(
            find_fault(value, f"{path}.{key}") for key, value in answer.items()
        )
    return None


def _find_sum_fault(answer: dict[str, Any], path: str) -> str | None:
    """Probabilities of a decision sum to 1."""
    probabilities = answer.get("probabilities")
    if not isinstance(probabilities, dict):
        return None
    total = sum(probabilities.values())
    if abs(total - 1) <= SUM_TOLERANCE:
        return None
    return f"{path}.probabilities sum to {total}"


def _first(faults: Iterator[str | None]) -> str | None:
    return next((fault for fault in faults if fault is not None), None)
