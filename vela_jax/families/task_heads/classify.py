"""`/v1/classify`: a request's items, planned one by one by the head and joined in one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from vela_jax.contract import Answer, InvalidRequest, ItemError, Result, Row
from vela_jax.families.task_heads.facts import MAX_INPUTS
from vela_jax.families.task_heads.items import Item, Planned, outcomes, plan_each, rows_of, tokens_of
from vela_jax.families.task_heads.settings import Settings, settle
from vela_jax.families.task_heads.spec import ClassifierSpec
from vela_jax.surfaces.requests import ClassifyRequest

HEAD_NAME = "default"


class Head(Protocol):
    """How one kind of head reads an item."""

    kind: ClassVar[str]  # as reported in the answer
    inputs: ClassVar[tuple[str, ...]]  # item forms, as on the card

    def plan(self, item: Any, settings: Settings) -> Item:
        """Read one item; an item of a wrong form fails by itself."""


@dataclass(frozen=True, slots=True)
class ClassifyPlan:
    """A read request."""

    head: Head
    labels: tuple[str, ...]
    items: tuple[Item, ...]

    @property
    def rows(self) -> Sequence[Row]:
        """Rows of all items, in order."""
        return rows_of(self.items)

    def assemble(self, results: Sequence[Result]) -> Answer:
        """Results in input order, failures in place."""
        found = outcomes(self.items, results)
        entries = []
        for index, (item, outcome) in enumerate(zip(self.items, found, strict=True)):
            if isinstance(outcome, ItemError):
                entries.append({"index": index, "error": str(outcome)})
            elif isinstance(item, Planned):
                entries.append({"index": index, **item.finish(outcome)})
        tokens = tokens_of(self.items)
        body = {
            "head": HEAD_NAME,
            "kind": self.head.kind,
            "labels": list(self.labels),
            "results": entries,
            "usage": {"input_tokens": tokens, "output_tokens": 0},
        }
        return Answer(body, {"head": HEAD_NAME}, tokens)


def plan_classify(request: ClassifyRequest, spec: ClassifierSpec, head: Head, limit: int) -> ClassifyPlan:
    """Settle the options, then read every item."""
    if request.head not in (None, HEAD_NAME):
        raise InvalidRequest(f"head must be {HEAD_NAME!r}, got {request.head!r}")
    settings = settle(request.options, spec, limit)
    items = plan_each(_inputs(request.input), lambda item: head.plan(item, settings))
    return ClassifyPlan(head, spec.labels, items)


def text_of(item: Any) -> str | None:
    """The text of an item in the text form, if it has that form and is not empty."""
    if isinstance(item, dict) and set(item) == {"text"}:
        item = item["text"]
    return item if isinstance(item, str) and item else None


def _inputs(value: Any) -> list[Any]:
    if isinstance(value, str | dict):
        return [value]
    if not isinstance(value, list):
        raise InvalidRequest("input must be a text, an object or a list of these")
    if not 1 <= len(value) <= MAX_INPUTS:
        raise InvalidRequest(f"input must hold 1 to {MAX_INPUTS} items, got {len(value)}")
    return value
