"""What the HTTP side asks of the process: answers, cards, health, and an orderly end."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from serving import card
from serving.bundle import BundleTask, read_bundle
from serving.calls import Response, answer_tasks
from serving.config import Limits
from serving.decisions import Standard, task_of
from serving.errors import ErrorCode, RequestFailed
from serving.http.errors import error_body, failure_of
from serving.http.json import is_finite, not_finite
from serving.http.systemone_errors import status_of, systemone_body
from serving.live import LARGE
from serving.loader import Loader
from serving.metrics import Metrics
from serving.models import ModelTable
from serving.openai_decisions import OpenAIDecisions, is_openai_form, read_openai
from serving.received import Endpoint, Received
from serving.schema import Schema
from serving.systemone_batch import read_batch
from serving.task import Task, find, refusal_of
from serving.timing import Timing
from serving.version import API_VERSION
from vela_jax.contract import Answer, InvalidRequest, Surface, UnsupportedSurface
from vela_jax.systemone.assets import check_parts

if TYPE_CHECKING:
    from serving.generation import Generator
    from serving.text_side import TextSide

T = TypeVar("T")


class Service:
    """Answers requests on the served models. Its methods are called on one event loop."""

    def __init__(
        self, models: ModelTable, loader: Loader, metrics: Metrics, limits: Limits, schema: Schema = Schema.V5
    ) -> None:
        self._models = models
        self._loader = loader
        self._metrics = metrics
        self._limits = limits
        self._schema = schema
        self._stopping = False
        metrics.watch(depth=self._depth, ready=lambda: models.status.is_ready)

    def check_ready_if_single(self) -> None:
        """Raise RequestFailed (`not_ready`) when exactly one model is served and it is not ready."""
        if self._stopping:
            raise RequestFailed(ErrorCode.NOT_READY, "the server is shutting down")
        if self._models.single is not None:
            self._models.single.require_live()

    async def answer(self, endpoint: Endpoint, call: Received, timing: Timing) -> dict[str, Any]:
        """Answer a decoded request with the body of the response (HTTP contract, section 3.1).

        Fills in the phases of `timing` after `received`. Raises RequestFailed. Cancelling the caller cancels the jobs.
        """
        timing.received = timing.received or time.monotonic()
        try:
            if endpoint is Endpoint.BUNDLE:
                return await self._bundle(call, timing)
            self.check_ready_if_single()
            if endpoint is Endpoint.SYSTEMONE_BATCH:
                return await self._systemone_batch(call, timing)
            return await self._single(endpoint, call, timing)
        except (InvalidRequest, UnsupportedSurface) as error:
            raise refusal_of(error) from error

    async def _single(self, endpoint: Endpoint, call: Received, timing: Timing) -> dict[str, Any]:
        """Answer one surface request."""
        received = _received(timing)

        def read() -> tuple[Task, OpenAIDecisions | None]:
            taken: set[str] = set()
            of_openai = endpoint is Endpoint.DECISIONS and is_openai_form(call.body)
            form = read_openai(call.body) if of_openai else None
            task = self._task(endpoint, call if form is None else replace(call, body=form.body), received, taken)
            check_parts(call.parts, taken)
            return task, form

        task, form = await _aside(call, read)
        (response,) = await self._run([task], call, timing)
        if isinstance(response, Exception):
            raise response
        return response if form is None else form.answer(response)

    async def _systemone_batch(self, call: Received, timing: Timing) -> dict[str, Any]:
        """Each request as if it came alone, with its status where it is refused."""
        received = _received(timing)

        def read() -> tuple[list[str], list[Task | Exception]]:
            requests = read_batch(call.body, self._limits.max_bundle_tasks)
            bodies = [(Endpoint.SYSTEMONE, body) for body in requests.values()]
            return list(requests), self._read_all(bodies, call, received, None)

        names, tasks = await _aside(call, read)
        responses = await self._run(tasks, call, timing)
        return {
            "responses": {
                name: self._refused(response) if isinstance(response, Exception) else response
                for name, response in zip(names, responses, strict=True)
            }
        }

    def _refused(self, error: Exception) -> dict[str, Any]:
        failure = failure_of(error)
        return {**systemone_body(failure, self._schema), "status": status_of(failure, self._schema)}

    async def _bundle(self, call: Received, timing: Timing) -> dict[str, Any]:
        """Each task with a status of its own."""
        received = _received(timing)

        def read() -> tuple[list[BundleTask], list[Task | Exception]]:
            tasks, milliseconds = read_bundle(call.body, self._limits.max_bundle_tasks)
            deadline = None if milliseconds is None else received + milliseconds / 1000
            bodies = [(Endpoint(task.surface), task.body) for task in tasks]
            return tasks, self._read_all(bodies, call, received, deadline)

        named, tasks = await _aside(call, read)
        self._metrics.bundle_came(len(named))
        responses = await self._run(tasks, call, timing)
        return {"results": [_result(task, response) for task, response in zip(named, responses, strict=True)]}

    def _read_all(
        self, bodies: Sequence[tuple[Endpoint, Any]], call: Received, received: float, deadline: float | None
    ) -> list[Task | Exception]:
        """The task of each body, or why it cannot be read; of the parts each belongs to one asset of all."""
        taken: set[str] = set()
        tasks: list[Task | Exception] = []
        for endpoint, body in bodies:
            try:
                tasks.append(self._task(endpoint, replace(call, body=body), received, taken, deadline))
            except Exception as error:
                tasks.append(error)
        if not any(isinstance(task, Exception) for task in tasks):
            check_parts(call.parts, taken)
        return tasks

    async def _run(self, tasks: Sequence[Task | Exception], call: Received, timing: Timing) -> list[Response]:
        return await answer_tasks(tasks, timing, call.size, self._count)

    def _count(self, answer: Answer) -> None:
        self._metrics.answered(answer.input_tokens, answer.question_outcomes)

    def _task(
        self, endpoint: Endpoint, call: Received, received: float, taken: set[str], deadline: float | None = None
    ) -> Task:
        """Find the model of a request and read it; `taken` gathers the parts that its assets name."""
        surface = Surface.DECISIONS if endpoint is Endpoint.SYSTEMONE else Surface(endpoint.value)
        found = find(self._models, surface, call.body, received)
        if deadline is not None:
            found = replace(found, deadline=deadline if found.deadline is None else min(deadline, found.deadline))
        standard = Standard(self._schema is Schema.V4, call.long_context) if endpoint is Endpoint.SYSTEMONE else None
        return task_of(surface, found, call.parts, taken, standard)

    def text_side(self, name: str | None) -> TextSide:
        """Give what renders and derenders for a model; it may be there before the model is ready.

        Raises RequestFailed. May be called from any thread.
        """
        if self._stopping:
            raise RequestFailed(ErrorCode.NOT_READY, "the server is shutting down")
        return self._models.find_generator(name).require_text()

    def generator(self, name: str | None) -> Generator:
        """Give what generates for a model. Raises RequestFailed."""
        if self._stopping:
            raise RequestFailed(ErrorCode.NOT_READY, "the server is shutting down")
        return self._models.find_generator(name).require_generator()

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
        generators = [served.generator for served in self._models.models if served.generator is not None]
        stops: list[Callable[[], object]] = [
            *(each.scheduler.stop for each in live),
            *(each.stop for each in generators),
        ]
        await asyncio.gather(*(asyncio.to_thread(stop) for stop in stops))

    def _depth(self) -> int:
        return sum(served.live.scheduler.depth for served in self._models.models if served.live is not None)


def planning_pool() -> ThreadPoolExecutor:
    """Threads that plan large requests: tokenizers leave the interpreter lock, so one a core is of use."""
    return ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="plan")


def _received(timing: Timing) -> float:
    return time.monotonic() if timing.received is None else timing.received


async def _aside(call: Received, work: Callable[[], T]) -> T:
    """Do the work on a body at once, or on a thread when the body is large."""
    if call.size > LARGE:
        return await asyncio.get_running_loop().run_in_executor(None, work)
    return work()


def _result(task: BundleTask, response: Response) -> dict[str, Any]:
    """A task's answer under its surface, or its error."""
    if not isinstance(response, Exception) and not is_finite(response):
        response = not_finite()
    if isinstance(response, Exception):
        failure = failure_of(response)
        return {"id": task.id, "status": failure.status, **error_body(failure)}
    return {"id": task.id, "status": 200, str(task.surface): response}
