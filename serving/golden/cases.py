"""Readiness requests of a model, by what it serves (Vela 1.0 format, section 14)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

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


@dataclass(frozen=True, slots=True)
class Case:
    """One readiness request. `name` is what files of reference answers call it."""

    name: str
    surface: Surface
    body: dict[str, Any]


def cases(description: Description) -> Iterator[Case]:
    """The readiness requests of a model; at least one, no two of one name."""
    if Surface.CLASSIFY in description.surfaces:
        yield from _classify_cases(description)
    if Surface.EMBEDDINGS in description.surfaces:
        yield Case("embeddings", Surface.EMBEDDINGS, {"input": list(TEXTS)})
    if Surface.RERANK in description.surfaces:
        yield Case("rerank", Surface.RERANK, RERANK)
    if Surface.DECISIONS in description.surfaces:
        yield Case("decisions", Surface.DECISIONS, DECISIONS)


def _classify_cases(description: Description) -> Iterator[Case]:
    heads = description.heads or []
    if any("grounded" in head.inputs for head in heads):
        yield Case("grounded", Surface.CLASSIFY, {"input": [GROUNDED]})
        return
    yield Case("texts", Surface.CLASSIFY, {"input": list(TEXTS)})
    if Surface.DECISIONS in description.surfaces:
        yield Case("pair", Surface.CLASSIFY, {"input": [{"text": TEXTS[0], "text_pair": HYPOTHESIS}]})
