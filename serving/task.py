"""One surface request of a call: found its model, read, planned, and made into the body of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import UNSET

from serving.errors import ErrorCode, RequestFailed
from serving.live import LiveModel, Outcome
from serving.models import ModelTable, ServedModel
from vela_jax.contract import Answer, InvalidRequest, Model, Plan, Surface, UnsupportedSurface
from vela_jax.surfaces.options import Options
from vela_jax.surfaces.reading import check_members, read_request

Meta = Callable[[], dict[str, Any]]
"""Gives the runtime's part of `meta` once the request has been answered."""


class Task(Protocol):
    """A read request on a running model; an `Ask` of it that can finish its answer."""

    @property
    def served(self) -> ServedModel:
        """The model under its served name."""

    @property
    def live(self) -> LiveModel:
        """The same model, running."""

    @property
    def deadline(self) -> float | None:
        """As of an `Ask`."""

    def plan(self, model: Model) -> Sequence[Plan | Exception]:
        """As of an `Ask`."""

    def finish(self, outcomes: Sequence[Outcome], meta: Meta) -> tuple[dict[str, Any], Answer]:
        """The body of the response, and what the metrics count. Raises what refuses the request."""


@dataclass(frozen=True, slots=True)
class Found:
    """The model that a request names, running, with the request's members read."""

    served: ServedModel
    live: LiveModel
    request: Any
    deadline: float | None


@dataclass(frozen=True, slots=True)
class SurfaceTask:
    """A request of classify, embeddings or rerank."""

    surface: Surface
    served: ServedModel
    live: LiveModel
    request: Any
    deadline: float | None

    def plan(self, model: Model) -> Sequence[Plan | Exception]:
        """The one plan of the request."""
        return [model.plan(self.surface, self.request)]

    def finish(self, outcomes: Sequence[Outcome], meta: Meta) -> tuple[dict[str, Any], Answer]:
        """The answer under the served name."""
        answer = answered(outcomes[0])
        body = {"model": self.served.id, **answer.body}
        if self.request.options.return_meta:
            body["meta"] = {**meta(), **answer.meta}
        return body, answer


def find(models: ModelTable, surface: Surface, body: Any, received: float) -> Found:
    """Find the model and read the members of a request, in the order of the contract (HTTP contract, section 3.1).

    Raises RequestFailed, InvalidRequest or UnsupportedSurface.
    """
    check_members(surface, body)
    served = models.find(body.get("model"))
    live = served.require_live()
    _require_surface(served.id, live, surface)
    request = read_request(surface, body)
    return Found(served, live, request, _deadline(request.options, received))


def answered(outcome: Outcome) -> Answer:
    """The answer, or its refusal raised."""
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def refusal_of(error: Exception) -> Exception:
    """What a family refuses as the server answers it; anything else as it is."""
    if isinstance(error, InvalidRequest):
        return RequestFailed(ErrorCode.INVALID_REQUEST, str(error), reason=error.reason, limit=error.limit)
    if isinstance(error, UnsupportedSurface):
        return RequestFailed(ErrorCode.UNSUPPORTED_SURFACE, str(error))
    return error


def sum_usage(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Usage of a batch: its entries together."""
    total: dict[str, Any] = {name: sum(usage[name] for usage in usages) for name in ("input_tokens", "output_tokens")}
    if any(usage.get("tokens_lower_bound") for usage in usages):
        total["tokens_lower_bound"] = True
    return total


def _require_surface(name: str, live: LiveModel, surface: Surface) -> None:
    served = live.loaded.description.surfaces
    if surface not in served:
        raise UnsupportedSurface(f"model {name} does not serve {surface}; it serves {', '.join(served)}")


def _deadline(options: Options, received: float) -> float | None:
    return None if options.deadline_ms is UNSET else received + options.deadline_ms / 1000
