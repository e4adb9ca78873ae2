"""Requests whose buckets cannot be opened, and what becomes of a model whose device fails."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

from serving.config import Bounds, ModelEntry
from serving.errors import RequestFailed
from serving.loaded import LoadedModel, Report
from serving.received import Endpoint, Received
from serving.timing import Timing
from tests.serving.fakes import FakeEngine, Process, load_letters, on_loop, until
from vela_jax.contract import DeviceFault, OutOfMemory

MODELS = [ModelEntry(model="acme/letters", name="letters"), ModelEntry(model="acme/other", name="other")]


def serving(engine: FakeEngine, bounds: Bounds | None = None) -> Process:
    """Two ready models; the first one has the engine."""

    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        return load_letters(engine if entry.name == "letters" else FakeEngine())

    return Process(MODELS, load=load, bounds=bounds or Bounds()).up()


async def refusal(process: Process, text: str) -> tuple[int, str]:
    """Status and message of a request that must be refused."""
    with pytest.raises(RequestFailed) as failed:
        await process.service.answer(Endpoint.CLASSIFY, Received({"input": text, "model": "letters"}), Timing())
    return failed.value.status, failed.value.message


async def ask(process: Process, model: str) -> object:
    """The results for a text."""
    answer = await process.service.answer(Endpoint.CLASSIFY, Received({"input": "a", "model": model}), Timing())
    return answer["results"]


def opening(error: BaseException | None) -> list[Future[None]]:
    """A bucket that was opened, or was not."""
    future: Future[None] = Future()
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
    return [future]


def pending(process: Process) -> tuple[int, int]:
    """Jobs and tokens that the first model has taken and not answered."""
    return process.models.models[0].require_live().scheduler.pending


def test_requests_that_wait_for_a_bucket_are_within_the_bounds() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        process = serving(engine, Bounds(max_queue=2))
        bucket: Future[None] = Future()
        engine.opening = [bucket]
        asked = [asyncio.create_task(ask(process, "letters")) for _ in range(2)]
        await until(lambda: pending(process) == (2, 2))
        assert (await refusal(process, "a"))[0] == 429
        asked.pop().cancel()
        await until(lambda: pending(process) == (1, 1))
        engine.opening = []
        bucket.set_result(None)
        assert await asked[0] == [{"index": 0, "sum": 97.0}]
        assert pending(process) == (0, 0)

    on_loop(scenario())


def test_a_deadline_holds_while_a_bucket_is_opened() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        process = serving(engine)
        engine.opening = [Future()]
        body = {"input": "a", "model": "letters", "options": {"deadline_ms": 20}}
        answer = await process.service.answer(Endpoint.CLASSIFY, Received(body), Timing())
        assert answer["results"] == [{"index": 0, "error": "deadline_exceeded"}]
        assert pending(process) == (0, 0)

    on_loop(scenario())


def test_a_bucket_that_does_not_fit_refuses_the_request_alone() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        process = serving(engine)
        engine.opening = opening(OutOfMemory("8 GiB"))
        status, message = await refusal(process, "a")
        assert status == 413
        assert "send fewer or shorter inputs" in message
        engine.opening = opening(None)
        assert await ask(process, "letters") == [{"index": 0, "sum": 97.0}]
        assert process.service.health()[0] == 200

    on_loop(scenario())


def test_a_bucket_that_cannot_be_built_is_an_error_of_its_request() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        process = serving(engine)
        engine.opening = opening(ValueError("no such shape"))
        assert await refusal(process, "a") == (500, "ValueError: no such shape")
        engine.opening = []
        assert await ask(process, "letters") == [{"index": 0, "sum": 97.0}]

    on_loop(scenario())


@pytest.mark.parametrize("while_opening", [False, True])
def test_a_device_fault_degrades_the_model_and_asks_for_a_new_process(while_opening: bool) -> None:
    async def scenario() -> None:
        engine, fault = FakeEngine(), DeviceFault("CUDA_ERROR_LAUNCH_FAILED")
        process = serving(engine)
        assert process.device_faults == 0
        if while_opening:
            engine.opening = opening(fault)
        else:
            engine.failures[len(engine.forwards)] = fault
        assert await refusal(process, "a") == (500, "DeviceFault: CUDA_ERROR_LAUNCH_FAILED")
        assert process.device_faults == 1
        status, body = process.service.health()
        assert (status, body["status"]) == (503, "degraded")
        assert body["models"]["letters"] == {"status": "degraded", "reason": "DeviceFault: CUDA_ERROR_LAUNCH_FAILED"}
        assert await refusal(process, "b") == (503, "model letters is degraded: DeviceFault: CUDA_ERROR_LAUNCH_FAILED")
        assert await ask(process, "other") == [{"index": 0, "sum": 97.0}], "the other model answers until the end"

    on_loop(scenario())


def test_a_fault_before_the_model_serves_fails_its_load() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        engine.failures = dict.fromkeys(range(100), DeviceFault("lost"))
        process = serving(engine)
        assert process.device_faults == 0
        assert process.models.models[0].status.state == "failed"
        assert "DeviceFault: lost" in (process.models.models[0].status.reason or "")
        assert await ask(process, "other") == [{"index": 0, "sum": 97.0}]

    on_loop(scenario())
