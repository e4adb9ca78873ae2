"""Validation order, answers, meta, failures and the end of the process, with a model that sums letters."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from serving.config import Bounds, ModelEntry
from serving.errors import RequestFailed
from serving.loaded import LoadedModel, Report
from serving.received import Endpoint, Received
from serving.timing import Timing
from tests.serving.fakes import PATIENCE, FakeEngine, Gate, LettersModel, Process, load_letters, on_loop, until
from vela_jax.contract import Surface

NAMED = ModelEntry(model="acme/letters", name="letters")
OTHER = ModelEntry(model="acme/other", name="other")


async def ask(process: Process, body: object, surface: Surface = Surface.CLASSIFY) -> dict[str, Any]:
    return await process.service.answer(Endpoint(surface), Received(body), Timing())


async def refusal(process: Process, body: object, surface: Surface = Surface.CLASSIFY) -> tuple[int, str]:
    """Status and message of a refused request."""
    with pytest.raises(RequestFailed) as failed:
        await ask(process, body, surface)
    return failed.value.status, failed.value.message


def test_an_answer_names_the_served_model_first() -> None:
    async def scenario() -> None:
        answer = await ask(Process([NAMED]).up(), {"input": ["ab", "", "c"]})
        assert list(answer) == ["model", "results", "usage"]
        assert answer["model"] == "letters"
        assert answer["results"] == [
            {"index": 0, "sum": 195.0},
            {"index": 1, "error": "invalid_input"},
            {"index": 2, "sum": 99.0},
        ]

    on_loop(scenario())


def test_a_request_whose_items_all_failed_runs_nothing() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        process = Process([NAMED], load=lambda entry, report: load_letters(engine)).up()  # noqa: ARG005
        engine.forwards.clear()
        answer = await ask(process, {"input": ["", ""]})
        assert [item["error"] for item in answer["results"]] == ["invalid_input"] * 2
        assert engine.forwards == []

    on_loop(scenario())


@pytest.mark.parametrize(
    ("body", "surface", "status", "message"),
    [
        ([], Surface.CLASSIFY, 400, "object"),
        (None, Surface.CLASSIFY, 400, "object"),
        ({"input": "a", "zeta": 1, "alpha": 1, "model": 3}, Surface.CLASSIFY, 400, "['alpha', 'zeta']"),
        ({"input": "a", "model": 3, "options": {"no": 1}}, Surface.CLASSIFY, 400, "model must be a string"),
        ({"input": "a", "model": "nobody", "options": {"no": 1}}, Surface.CLASSIFY, 404, "['letters', 'other']"),
        ({"input": "a", "options": {"no": 1}}, Surface.CLASSIFY, 400, "['letters', 'other']"),
        ({"input": "a", "model": None}, Surface.CLASSIFY, 400, "model is required"),
        ({"input": "a", "model": "letters", "options": {"no": 1}}, Surface.EMBEDDINGS, 422, "does not serve"),
        ({"input": "refuse", "model": "letters", "options": {"no": 1}}, Surface.CLASSIFY, 400, "options"),
        ({"input": "refuse", "model": "letters", "options": {"deadline_ms": -1}}, Surface.CLASSIFY, 400, "deadline_ms"),
        ({"input": "refuse", "model": "letters", "options": {"profile": "fast"}}, Surface.CLASSIFY, 400, "profile"),
        ({"input": "refuse", "model": "letters"}, Surface.CLASSIFY, 400, "'refuse' is not allowed"),
        ({"model": "letters"}, Surface.CLASSIFY, 400, "input is required"),
    ],
)
def test_refusals_come_in_the_order_of_the_contract(body: object, surface: Surface, status: int, message: str) -> None:
    async def scenario() -> None:
        found, text = await refusal(Process([NAMED, OTHER]).up(), body, surface)
        assert found == status
        assert message in text

    on_loop(scenario())


@pytest.mark.parametrize("body", [[], {"nonsense": 1}, {"model": 3}, {"input": "a"}])
def test_a_single_model_that_is_not_ready_refuses_whatever_the_body(body: object) -> None:
    async def scenario() -> None:
        process = Process([NAMED])
        with pytest.raises(RequestFailed, match="letters is starting"):
            process.service.check_ready_if_single()
        status, message = await refusal(process, body)
        assert status == 503
        assert "starting" in message

    on_loop(scenario())


def test_of_several_models_only_the_one_asked_must_be_ready() -> None:
    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        if entry is OTHER:
            raise LookupError("broken package")
        return load_letters()

    async def scenario() -> None:
        process = Process([NAMED, OTHER], load=load).up()
        process.service.check_ready_if_single()
        assert (await ask(process, {"input": "a", "model": "letters"}))["model"] == "letters"
        status, message = await refusal(process, {"input": "a", "model": "other"})
        assert status == 503
        assert "failed: LookupError: broken package" in message
        assert (await refusal(process, []))[0] == 400, "with several models the body is looked at first"

    on_loop(scenario())


def test_meta_has_exactly_the_members_of_the_contract() -> None:
    async def scenario() -> None:
        process = Process([NAMED]).up()
        meta = (await ask(process, {"input": "ab", "options": {"return_meta": True}}))["meta"]
        times = {name: meta.pop(name) for name in ("queue_ms", "compute_ms")}
        assert meta == {
            "model_id": "acme/letters",
            "revision": "a" * 40,
            "model_sha256": "b" * 64,
            "dtype": "fp32",
            "numerics": "exact",
            "profile": "exact",
            "engine": "jax",
            "accelerator": "cpu",
            "device": "cpu",
            "head": "default",
        }
        assert all(value >= 0 and round(value, 3) == value for value in times.values())
        assert "meta" not in await ask(process, {"input": "ab", "options": {"return_meta": False}})

    on_loop(scenario())


def test_phases_of_an_answered_request_are_filled_in_order() -> None:
    async def scenario() -> None:
        process = Process([NAMED]).up()
        timing = Timing()
        timing.received = time.monotonic()
        await process.service.answer(Endpoint.CLASSIFY, Received({"input": ["ab"]}), timing)
        phases = [timing.received, timing.planned, timing.submitted, timing.last_forward_end, timing.answered]
        assert None not in phases
        assert sorted(phases, key=lambda each: each or 0) == phases
        assert timing.assembled is not None
        assert timing.forward > 0
        again = Timing()
        await process.service.answer(Endpoint.CLASSIFY, Received({"input": ["ab"]}), again)
        assert again.forward == 0, "the second answer comes from the cache"
        assert "forward;dur=0.000" in again.header(time.monotonic())

    on_loop(scenario())


def test_a_passed_deadline_expires_every_item_but_the_kept_ones() -> None:
    async def scenario() -> None:
        process = Process([NAMED]).up()
        await ask(process, {"input": "kept"})
        answer = await ask(process, {"input": ["kept", "new"], "options": {"deadline_ms": 1e-9}})
        assert answer["results"] == [{"index": 0, "sum": 436.0}, {"index": 1, "error": "deadline_exceeded"}]
        fresh = await ask(process, {"input": ["new"]})
        assert "sum" in fresh["results"][0], "an expired result is not kept"
        assert process.sample("deadline_dropped_questions_total") == 1

    on_loop(scenario())


def test_equal_rows_are_answered_from_the_cache_and_counted() -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        process = Process([NAMED], load=lambda entry, report: load_letters(engine)).up()  # noqa: ARG005
        engine.forwards.clear()
        first = await ask(process, {"input": ["ab", "cd"]})
        assert await ask(process, {"input": ["ab", "cd"]}) == first
        assert (await ask(process, {"input": ["cd", "e"]}))["results"][0]["sum"] == first["results"][1]["sum"]
        assert engine.forwards == [[2, 2], [1]]
        assert process.sample("result_cache_total", model="letters", outcome="hit") == 3
        assert process.sample("result_cache_total", model="letters", outcome="miss") == 3

    on_loop(scenario())


def test_without_a_cache_every_row_runs_and_no_key_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        engine = FakeEngine()
        bounds = Bounds(result_cache_entries=0)
        process = Process([NAMED], load=lambda entry, report: load_letters(engine), bounds=bounds).up()  # noqa: ARG005
        engine.forwards.clear()
        monkeypatch.setattr("vela_jax.contract.Row.content_key", lambda self: pytest.fail("hashed"))  # noqa: ARG005
        for _ in range(2):
            await ask(process, {"input": ["ab"]})
        assert engine.forwards == [[2], [2]]

    on_loop(scenario())


@pytest.mark.parametrize(("length", "on_pool"), [(100, False), (17_000, True)])
def test_large_bodies_are_planned_off_the_event_loop(length: int, on_pool: bool) -> None:
    async def scenario() -> None:
        model = LettersModel()
        process = Process([NAMED], load=lambda entry, report: load_letters(model=model)).up()  # noqa: ARG005
        await ask(process, {"input": ["x" * length]})
        assert model.planned_on[-1].startswith("plan") == on_pool
        assert on_pool or model.planned_on[-1] == threading.current_thread().name

    on_loop(scenario())


def test_an_unexpected_exception_leaves_the_model_serving() -> None:
    async def scenario() -> None:
        model, engine = LettersModel(), FakeEngine()
        process = Process([NAMED], load=lambda entry, report: load_letters(engine, model)).up()  # noqa: ARG005
        model.failure = ZeroDivisionError("planning")
        with pytest.raises(ZeroDivisionError):  # the HTTP side answers 500
            await ask(process, {"input": "a"})
        model.failure = None
        engine.failures[len(engine.forwards)] = ValueError("forward")
        assert await refusal(process, {"input": "a"}) == (500, "ValueError: forward")
        assert (await ask(process, {"input": "a"}))["results"] == [{"index": 0, "sum": 97.0}]

    on_loop(scenario())


def gated(gate: Gate, bounds: Bounds | None = None) -> tuple[Process, FakeEngine]:
    """A ready model whose forwards from now on wait at the gate."""
    engine = FakeEngine()
    process = Process([NAMED], load=lambda entry, report: load_letters(engine), bounds=bounds or Bounds()).up()  # noqa: ARG005
    engine.gate = gate
    engine.forwards.clear()
    return process, engine


def test_admission_refuses_with_429_and_the_depth_shows_the_queue() -> None:
    async def scenario() -> None:
        gate = Gate()
        process, _ = gated(gate, Bounds(max_queue=3))
        tasks = [asyncio.create_task(ask(process, {"input": "a"}))]
        await gate.reached()
        tasks += [asyncio.create_task(ask(process, {"input": text})) for text in ("b", "c")]
        await until(lambda: process.sample("queue_depth") == 2)
        assert (await refusal(process, {"input": "d"}))[0] == 429
        assert (await ask(process, {"input": ""}))["results"][0]["error"] == "invalid_input", "no rows, not admitted"
        gate.open(9)
        await asyncio.gather(*tasks)
        assert process.sample("queue_depth") == 0

    on_loop(scenario())


def test_a_client_that_leaves_takes_its_job_along() -> None:
    async def scenario() -> None:
        gate = Gate()
        process, engine = gated(gate)
        running = asyncio.create_task(ask(process, {"input": "a"}))
        await gate.reached()
        leaving = asyncio.create_task(ask(process, {"input": "bb"}))
        await until(lambda: process.sample("queue_depth") == 1)
        leaving.cancel()
        await asyncio.wait([leaving])
        assert process.sample("queue_depth") == 0
        gate.open(1)
        await running
        assert engine.forwards == [[1]]

    on_loop(scenario())


def test_stop_finishes_the_running_request_and_refuses_the_rest() -> None:
    async def scenario() -> None:
        gate = Gate()
        process, _ = gated(gate)
        running = asyncio.create_task(ask(process, {"input": "a"}))
        await gate.reached()
        queued = asyncio.create_task(refusal(process, {"input": "b"}))
        await until(lambda: process.sample("queue_depth") == 1)
        stopping = asyncio.create_task(process.service.stop())
        assert await queued == (503, "the server is shutting down")
        assert (await refusal(process, {"input": "c"}))[0] == 503
        gate.open(1)
        assert (await running)["results"][0]["sum"] == 97.0
        await stopping

    on_loop(scenario())


def test_stop_before_any_model_is_loaded() -> None:
    async def scenario() -> None:
        process = Process([NAMED])
        await process.service.stop()
        process.loader.start()
        await asyncio.to_thread(process.loader.join, PATIENCE)
        assert process.models.models[0].status.state == "starting", "no load begins after a stop"

    on_loop(scenario())


def test_answered_requests_count_tokens_and_questions() -> None:
    async def scenario() -> None:
        process = Process([NAMED]).up()
        assert process.sample("input_tokens_total") == 0, "readiness requests are no traffic"
        assert process.sample("batch_rows_count") == 0
        await ask(process, {"input": ["ab", ""]})
        assert process.sample("input_tokens_total") == 2
        assert process.sample("questions_total", type="letters", outcome="answered") == 1
        assert process.sample("questions_total", type="letters", outcome="invalid_input") == 1
        assert process.sample("batch_rows_sum") == 1
        assert process.sample("batch_tokens_sum") == 2
        assert process.sample("forward_duration_seconds_count") == 1
        assert process.sample("queue_duration_seconds_count") == 1

    on_loop(scenario())


@pytest.mark.parametrize("entries", [[NAMED], [NAMED, OTHER]], ids=["one", "several"])
def test_health(entries: list[ModelEntry]) -> None:
    process = Process(entries)
    status, body = process.service.health()
    assert status == 503
    assert list(body)[:4] == ["api_version", "status", "reason", "model"]
    assert body["status"] == "starting"
    assert process.service.liveness() == {"api_version": body["api_version"], "status": "alive"}
    process.up()
    status, body = process.service.health()
    assert (status, body["status"], body["reason"]) == (200, "ready", None)
    assert process.sample("ready") == 1
    if len(entries) == 1:
        assert body["model"] == "letters"
        assert "models" not in body
    else:
        assert body["model"] is None
        assert body["models"] == {name: {"status": "ready", "reason": None} for name in ("letters", "other")}


def test_sixty_four_callers_of_mixed_texts_get_their_own_answers() -> None:
    async def scenario() -> None:
        process = Process([NAMED]).up()

        async def caller(number: int) -> None:
            texts = [chr(97 + (number + turn) % 26) * (1 + turn) for turn in range(4)]
            answer = await ask(process, {"input": texts})
            assert [item["sum"] for item in answer["results"]] == [float(sum(map(ord, text))) for text in texts]

        await asyncio.gather(*(caller(number) for number in range(64)))

    on_loop(scenario())
