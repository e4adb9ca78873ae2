"""`/v1/rerank`: pairs of a query and each document, scored at one exit (Vela 1.0 format, section 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vela_jax.contract import Answer, InvalidRequest, ItemError, Readout, Result, Row
from vela_jax.families.task_heads.activations import logistic
from vela_jax.families.task_heads.items import Failed, Item, Planned, outcomes, plan_each, rows_of, tokens_of
from vela_jax.families.task_heads.reading import Texts
from vela_jax.families.task_heads.spec import Exit, RelevanceSpec
from vela_jax.surfaces.requests import RerankRequest
from vela_jax.surfaces.usage import ItemUsage
from vela_jax.text.bounds import Reading

MAX_DOCUMENTS = 1024


@dataclass(frozen=True, slots=True)
class RerankPlan:
    """A read request."""

    items: tuple[Item, ...]
    documents: list[str]
    exit: Exit
    top_n: int
    return_documents: bool

    @property
    def rows(self) -> Sequence[Row]:
        """One row a document that could be read."""
        return rows_of(self.items)

    def assemble(self, results: Sequence[Result]) -> Answer:
        """Scored documents by falling logit, ties by index, cut to `top_n`; then all failed ones in input order."""
        scored: list[dict[str, Any]] = []
        failed: list[dict[str, Any]] = []
        for index, (item, outcome) in enumerate(zip(self.items, outcomes(self.items, results), strict=True)):
            if isinstance(outcome, ItemError):
                failed.append({"index": index, "error": str(outcome)})
            elif isinstance(item, Planned):
                scored.append(self._entry(index, float(outcome[0]), item.usage))
        scored.sort(key=lambda entry: -entry["logit"])
        tokens = tokens_of([item for item in self.items if isinstance(item, Planned)])
        body = {
            "results": scored[: self.top_n] + failed,
            "usage": {"input_tokens": tokens, "output_tokens": 0},
        }
        shown = {"layer": self.exit.layer, "dimension": self.exit.dimension}
        return Answer(body, {"pair_scorer": shown}, tokens)

    def _entry(self, index: int, logit: float, usage: ItemUsage) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "index": index,
            "relevance_score": logistic(logit),
            "logit": logit,
            "input": usage.to_json(),
        }
        if self.return_documents:
            entry["document"] = self.documents[index]
        return entry


def plan_rerank(request: RerankRequest, spec: RelevanceSpec, texts: Texts, limit: int) -> RerankPlan:
    """Check what the model offers, read the query once and every document behind it."""
    _check_shape(request)
    exit_ = _exit(request, spec)
    budget = _budget(request, limit)
    readout = Readout(f"logit.{exit_.layer}.{exit_.dimension}", exit_.layer)
    query = _read_query(texts, request.query, budget)
    items = plan_each(request.documents, lambda text: _plan_document(texts, query, text, budget, readout))
    top_n = len(request.documents) if request.top_n is None else request.top_n
    return RerankPlan(items, request.documents, exit_, top_n, request.return_documents)


def _read_query(texts: Texts, query: str, budget: int) -> Reading | None:
    """The query's tokens; None when it alone is over the budget."""
    room = budget - texts.pair.size
    if room < 0 or texts.reader.surely_over(query, room):
        return None
    reading = texts.reader.read(query, room + 1)
    return reading if reading.complete else None


def _plan_document(texts: Texts, query: Reading | None, document: str, budget: int, readout: Readout) -> Item:
    if not document.strip():
        return Failed(ItemError.INVALID_INPUT)
    if query is None:
        return Failed(ItemError.MAX_LENGTH_EXCEEDED)
    left = budget - texts.pair.size - len(query.ids)
    if left < 0 or texts.reader.surely_over(document, left):
        return Failed(ItemError.MAX_LENGTH_EXCEEDED)
    reading = texts.reader.read(document, left + 1)
    if not reading.complete or len(reading.ids) > left:
        return Failed(ItemError.MAX_LENGTH_EXCEEDED)
    ids = texts.pair.frame(query.ids, reading.ids)
    return Planned((Row(ids, readout),), ItemUsage(len(ids), len(ids)), lambda _: {})


def _check_shape(request: RerankRequest) -> None:
    if not request.query.strip():
        raise InvalidRequest("query must not be blank")
    if not 1 <= len(request.documents) <= MAX_DOCUMENTS:
        raise InvalidRequest(f"documents must hold 1 to {MAX_DOCUMENTS} texts, got {len(request.documents)}")
    if request.top_n is not None and request.top_n < 1:
        raise InvalidRequest(f"top_n must be at least 1, got {request.top_n}")
    if request.options.overflow != "reject":
        raise InvalidRequest(f"options.overflow must be 'reject' for a pair scorer, got {request.options.overflow!r}")


def _exit(request: RerankRequest, spec: RelevanceSpec) -> Exit:
    layer = spec.default.layer if request.layer is None else request.layer
    dimension = spec.default.dimension if request.dimensions is None else request.dimensions
    wanted = Exit(layer, dimension)
    if wanted not in spec.exits:
        served = [(exit_.layer, exit_.dimension) for exit_ in spec.exits]
        raise InvalidRequest(f"layer and dimensions must be one of {served}, got {(layer, dimension)}")
    return wanted


def _budget(request: RerankRequest, limit: int) -> int:
    budget = limit if request.options.max_tokens is None else request.options.max_tokens
    if not 1 <= budget <= limit:
        raise InvalidRequest(f"options.max_tokens must be 1 to {limit}, got {budget}")
    return budget
