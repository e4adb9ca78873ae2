"""What the HTTP side asks of the process: answers, cards, health, and an orderly end."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from msgspec import UNSET

from serving import card
from serving.body_size import encoded_size
from serving.config import Limits
from serving.errors import ErrorCode, RequestFailed
from serving.live import LARGE
from serving.loaded import LoadedModel
from serving.loader import Loader
from serving.metrics import Metrics
from serving.models import ModelTable
from serving.timing import Timing
from serving.version import API_VERSION
from vela_jax.contract import InvalidRequest, Surface, UnsupportedSurface
from vela_jax.surfaces.options import Options
from vela_jax.surfaces.reading import check_members, read_request


class Service:
    """Answers requests on the served models. Its methods are called on one event loop."""

    def __init__(self, models: ModelTable, loader: Loader, metrics: Metrics, limits: Limits) -> None:
        self._models = models
        self._loader = loader
        self._metrics = metrics
        self._limits = limits
        self._stopping = False
        metrics.watch(depth=self._depth, ready=lambda: models.status.is_ready)

    def check_ready_if_single(self) -> None:
        """Raise RequestFailed (`not_ready`) when exactly one model is served and it is not ready."""
        if self._stopping:
            raise RequestFailed(ErrorCode.NOT_READY, "the server is shutting down")
        if self._models.single is not None:
            self._models.single.require_live()

    async def answer(self, surface: Surface, body: object, timing: Timing) -> dict[str, Any]:
        """Answer a decoded request body with the body of the response (HTTP contract, section 3.1).

        Fills in the phases of `timing` after `received`. Raises RequestFailed. Cancelling the caller cancels the job.
        """
        try:
            return await self._answer(surface, body, timing)
        except InvalidRequest as error:
            raise RequestFailed(ErrorCode.INVALID_REQUEST, str(error)) from error
        except UnsupportedSurface as error:
            raise RequestFailed(ErrorCode.UNSUPPORTED_SURFACE, str(error)) from error

    async def _answer(self, surface: Surface, body: object, timing: Timing) -> dict[str, Any]:
        received = timing.received = timing.received or time.monotonic()
        self.check_ready_if_single()
        check_members(surface, body)
        members = cast(dict[str, Any], body)
        served = self._models.find(members.get("model"))
        live = served.require_live()
        _require_surface(served.id, live.loaded, surface)
        request = read_request(surface, members)
        deadline = _deadline(request.options, received)
        answer = await live.answer(surface, request, timing, encoded_size(body, LARGE), deadline)
        self._metrics.answered(answer.input_tokens, answer.question_outcomes)
        response = {"model": served.id, **answer.body}
        if request.options.return_meta:
            response["meta"] = {**_meta(live.loaded, received, timing), **answer.meta}
        return response

    def model_cards(self) -> list[dict[str, Any]]:
        """Give the cards of the served models in load order."""
        return [card.model_card(served) for served in self._models.models]

    def model_list(self) -> dict[str, Any]:
        """Give the body of `GET /v1/models`."""
        return card.model_list(self._models.models, self._limits)

    def health(self) -> tuple[int, dict[str, Any]]:
        """Give status and body of `GET /health`: 200 only when every model is ready."""
        status, single = self._models.status, self._models.single
        body: dict[str, Any] = {
            "api_version": API_VERSION,
            "status": status.state,
            "reason": status.reason,
            "model": None if single is None else single.id,
        }
        if single is None:
            body["models"] = {
                served.id: {"status": served.status.state, "reason": served.status.reason}
                for served in self._models.models
            }
        return 200 if status.is_ready else 503, body

    def liveness(self) -> dict[str, Any]:
        """Give the body of `GET /health/live`."""
        return {"api_version": API_VERSION, "status": "alive"}

    async def stop(self) -> None:
        """Refuse new work, wait for the running forwards up to 10 s, end the loading of models."""
        self._stopping = True
        self._loader.stop()
        live = [served.live for served in self._models.models if served.live is not None]
        for each in live:
            each.loaded.close()
        await asyncio.gather(*(asyncio.to_thread(each.scheduler.stop) for each in live))

    def _depth(self) -> int:
        return sum(served.live.scheduler.depth for served in self._models.models if served.live is not None)


def planning_pool() -> ThreadPoolExecutor:
    """Threads that plan large requests: tokenizers leave the interpreter lock, so one a core is of use."""
    return ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="plan")


def _require_surface(name: str, loaded: LoadedModel, surface: Surface) -> None:
    served = loaded.description.surfaces
    if surface not in served:
        raise UnsupportedSurface(f"model {name} does not serve {surface}; it serves {', '.join(served)}")


def _deadline(options: Options, received: float) -> float | None:
    return None if options.deadline_ms is UNSET else received + options.deadline_ms / 1000


def _meta(loaded: LoadedModel, received: float, timing: Timing) -> dict[str, Any]:
    """The runtime's part of `meta` (HTTP contract, section 3.5)."""
    submitted, answered = timing.submitted or received, timing.answered or received
    return {
        "model_id": loaded.identity,
        "revision": loaded.provenance.revision,
        "model_sha256": loaded.provenance.model_sha256,
        "dtype": loaded.description.dtype,
        "numerics": loaded.numerics,
        "profile": card.PROFILE,
        "engine": loaded.engine_name,
        "accelerator": loaded.accelerator,
        "device": loaded.device,
        "queue_ms": round(1000 * (submitted - received), 3),
        "compute_ms": round(1000 * (answered - submitted), 3),
    }
