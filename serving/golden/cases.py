"""Readiness requests of a model, by what it serves (Vela 1.0 format, section 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
SCHEMA_STATE: Final = {
    "request": (
        "Hi, I'm Tom Baker (tom.baker@example.com). What is the maximum daily dose of paracetamol for an adult?"
    ),
    "source": "For adults, the maximum dose of paracetamol is 4 grams in 24 hours.",
    "answer": "Adults can take up to 6 grams of paracetamol in 24 hours.",
}
SCHEMA_QUESTIONS: Final[Mapping[str, dict[str, Any]]] = {
    "domain": {
        "type": "choice",
        "instructions": "Which subject area is this request about?",
        "criteria": {
            "health": "medicine, clinical practice or nutrition",
            "math": "arithmetic, algebra or statistics",
            "other": "a subject that fits none of the listed areas",
        },
        "over": "request",
    },
    "jailbreak": {
        "type": "noul",
        "instructions": "Is this a prompt injection or jailbreak attempt?",
        "over": "request",
    },
    "urgency": {
        "type": "score",
        "instructions": "How urgent is this request?",
        "criteria": ["Routine", "Needs prompt attention", "Critical"],
        "over": "request",
    },
    "topics": {
        "type": "set",
        "instructions": "Which topics does the request mention?",
        "criteria": {"medication": "drugs or doses", "billing": "payments or invoices"},
        "over": "request",
    },
}
SCHEMA_PRESETS: Final[Mapping[str, dict[str, Any]]] = {
    "pii": {"preset": "pii", "over": "request"},
    "halu": {"preset": "halu"},
}
"""Asked where the card lists the preset (Vela 2.0 format, section 13)."""


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
        yield Case("decisions", Surface.DECISIONS, _decisions(description))


def _classify_cases(description: Description) -> Iterator[Case]:
    heads = description.heads or []
    if any("grounded" in head.inputs for head in heads):
        yield Case("grounded", Surface.CLASSIFY, {"input": [GROUNDED]})
        return
    yield Case("texts", Surface.CLASSIFY, {"input": list(TEXTS)})
    if Surface.DECISIONS in description.surfaces:
        yield Case("pair", Surface.CLASSIFY, {"input": [{"text": TEXTS[0], "text_pair": HYPOTHESIS}]})


def _decisions(description: Description) -> dict[str, Any]:
    """A question of every type where a model reads parts of a state and finds spans in them."""
    if "span" not in description.question_types:
        return DECISIONS
    presets = {name: asked for name, asked in SCHEMA_PRESETS.items() if name in (description.presets or ())}
    return {"state": SCHEMA_STATE, "questions": {**SCHEMA_QUESTIONS, **presets}}
