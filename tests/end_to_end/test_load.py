"""Faults under load: every request gets its own answer or a refusal that says what to do, and none is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, cast

import httpx
import pytest

from serving.config import Bounds, ModelEntry
from serving.live import LiveModel
from tests.end_to_end.asking import series
from tests.end_to_end.callers import Call, Reply, ask, on_loop, until
from tests.end_to_end.injected import BREAKS, FILLS, Injected, inject
from tests.end_to_end.packages import write_small
from tests.end_to_end.server import Running, running
from vela_jax.forward.engine_args import EngineArgs

LIMIT: Final = 96
MAX_QUEUE: Final = 200
ARGS: Final = EngineArgs(warmup=(16, LIMIT), background=(), row_buckets=(1, 2), length_buckets=(16, LIMIT))
WORDS: Final = ("a", "the", "river", "sea", "stone", "house", "green", "letter", "small", "long", "word", "blue")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One tiny model whose forwards the tests hold and break; it keeps no results."""
    package = write_small(tmp_path_factory.mktemp("load") / "sequence", "sequence", LIMIT)
    bounds = Bounds(max_queue=MAX_QUEUE, max_queued_tokens=1 << 20, result_cache_entries=0)
    entry = ModelEntry(model=str(package), name="m")
    with running([entry], bounds=bounds, args=ARGS, wrap=inject) as server:
        server.require_ready()
        yield server


@pytest.fixture
def live(server: Running) -> LiveModel:
    live = server.models.models[0].live
    assert live is not None
    return live


@pytest.fixture
def engine(live: LiveModel) -> Iterator[Injected]:
    """The engine with an open gate; opened again after the test, which must leave nothing pending."""
    engine = cast(Injected, live.loaded.engine)
    engine.held = 0
    yield engine
    engine.gate.set()
    assert live.scheduler.is_alive
    assert (live.scheduler.pending, live.scheduler.depth) == ((0, 0), 0)


def numbered(number: int) -> dict[str, Any]:
    """A request that no other is equal to, of any length."""
    chance = random.Random(number)
    return {"input": " ".join([str(number), *chance.choices(WORDS, k=chance.randint(0, 25))])}


def counts(server: Running) -> dict[str, float]:
    with httpx.Client(base_url=server.url) as client:
        return series(client)


def requests_of(found: dict[str, float], status: int) -> float:
    return found.get(f'vllm_srun_requests_total{{endpoint="/v1/classify",status="{status}"}}', 0)


async def alone(server: Running, bodies: list[dict[str, Any]]) -> list[Any]:
    """The results that the requests get one after another."""
    return [(await ask(server.port, body)).result for body in bodies]


async def hold(server: Running, engine: Injected) -> Call:
    """Close the gate and wait until a forward stands before it."""
    engine.gate.clear()
    blocker = await Call.send(server.port, {"input": "the blocker"})
    await until(lambda: engine.held == 1)
    return blocker


def test_of_a_thousand_requests_at_once_none_is_lost_or_crossed(server: Running, engine: Injected) -> None:
    async def scenario() -> None:
        before = counts(server)
        bodies = [numbered(number) for number in range(1000)]
        blocker = await hold(server, engine)
        calls = await asyncio.gather(*(Call.send(server.port, body) for body in bodies))
        replies = [asyncio.ensure_future(call.reply()) for call in calls]
        await until(lambda: sum(reply.done() for reply in replies) == len(bodies) - (MAX_QUEUE - 1))
        assert counts(server)["vllm_srun_queue_depth"] > 0
        engine.gate.set()
        await blocker.reply()
        found = await asyncio.gather(*replies)
        assert Counter(reply.status for reply in found) == {200: MAX_QUEUE - 1, 429: len(bodies) - MAX_QUEUE + 1}
        assert {reply.code for reply in found if reply.status == 429} == {"overloaded"}
        assert all("try again later" in str(reply.body) for reply in found if reply.status == 429)
        answered = [(body, reply.result) for body, reply in zip(bodies, found, strict=True) if reply.status == 200]
        assert [result for _, result in answered] == await alone(server, [body for body, _ in answered])
        assert len({str(result) for _, result in answered}) == len(answered), "answers tell requests apart"
        after = counts(server)
        assert requests_of(after, 429) - requests_of(before, 429) == len(bodies) - MAX_QUEUE + 1

    on_loop(scenario())


def test_tokens_are_bounded_too(tmp_path: Any) -> None:
    package = write_small(tmp_path / "sequence", "sequence", LIMIT)

    async def scenario(server: Running) -> None:
        live = server.models.models[0].live
        assert live is not None
        engine = cast(Injected, live.loaded.engine)
        blocker = await hold(server, engine)
        large = await ask(server.port, {"input": ["the river"] * 40})
        assert (large.status, large.code) == (429, "overloaded")
        assert "tokens are pending" in large.body["error"]["message"]
        engine.gate.set()
        assert (await blocker.reply()).status == 200
        assert (await ask(server.port, {"input": ["the river"] * 40})).status == 200, "an idle model takes it"

    with running(
        [ModelEntry(model=str(package), name="m")], bounds=Bounds(max_queued_tokens=100), args=ARGS, wrap=inject
    ) as server:
        server.require_ready()
        on_loop(scenario(server))


def test_clients_that_leave_the_queue_take_their_work_along(server: Running, live: LiveModel, engine: Injected) -> None:
    async def scenario() -> None:
        before = counts(server)
        bodies = [numbered(number) for number in range(60)]
        blocker = await hold(server, engine)
        calls = [await Call.send(server.port, body) for body in bodies]
        await until(lambda: live.scheduler.pending[0] == 61)
        for call in calls[::2]:
            call.leave()
        await until(lambda: live.scheduler.pending[0] == 31)
        engine.gate.set()
        assert (await blocker.reply()).status == 200
        found = [(await call.reply()).result for call in calls[1::2]]
        forwards = counts(server)["vllm_srun_batch_rows_sum"] - before["vllm_srun_batch_rows_sum"]
        assert forwards == 31, "nobody's rows did not run"
        assert found == await alone(server, bodies[1::2])
        after = counts(server)
        assert requests_of(after, 499) - requests_of(before, 499) == 30

    on_loop(scenario())


def test_deadlines_that_pass_in_the_queue(server: Running, live: LiveModel, engine: Injected) -> None:
    async def scenario() -> None:
        before = counts(server)
        bodies = [numbered(number) for number in range(40)]
        hasty = [{**body, "options": {"deadline_ms": 1 if number % 4 else 1e-6}} for number, body in enumerate(bodies)]
        blocker = await hold(server, engine)
        calls = [await Call.send(server.port, body) for pair in zip(bodies, hasty, strict=True) for body in pair]
        await until(lambda: live.scheduler.pending[0] == 81)
        await asyncio.sleep(0.002)
        engine.gate.set()
        await blocker.reply()
        found = [(await call.reply()).result for call in calls]
        assert found[1::2] == [{"index": 0, "error": "deadline_exceeded"}] * 40
        assert found[::2] == await alone(server, bodies)
        name = "vllm_srun_deadline_dropped_questions_total"
        assert counts(server)[name] - before[name] == 40

    on_loop(scenario())


def test_forwards_that_break_fail_their_own_requests(server: Running, engine: Injected) -> None:
    async def scenario() -> None:
        bodies = [numbered(number) for number in range(64)]
        for body in bodies[::8]:
            body["input"] = f"the {BREAKS} {body['input']}"
        blocker = await hold(server, engine)
        calls = [await Call.send(server.port, body) for body in bodies]
        engine.gate.set()
        await blocker.reply()
        found = [await call.reply() for call in calls]
        failed = [number for number, reply in enumerate(found) if reply.status != 200]
        assert set(range(0, 64, 8)) <= set(failed)
        assert len(failed) <= 24, "at most two neighbours each"
        assert {found[number].body["error"]["message"] for number in failed} == {"RuntimeError: this forward breaks"}
        whole = [number for number in range(64) if number not in failed]
        assert [found[number].result for number in whole] == await alone(server, [bodies[number] for number in whole])
        assert counts(server)["vllm_srun_ready"] == 1

    on_loop(scenario())


def test_out_of_memory_alone_and_shared(server: Running, live: LiveModel, engine: Injected) -> None:
    async def scenario() -> None:
        filling = {"input": f"the {FILLS} river"}
        lone = await ask(server.port, filling)
        assert (lone.status, lone.code) == (413, "request_too_large")
        assert "send fewer or shorter inputs" in lone.body["error"]["message"]
        blocker = await hold(server, engine)
        calls = [await Call.send(server.port, body) for body in (filling, filling, {"input": "the sea " * 20})]
        await until(lambda: live.scheduler.pending[0] == 4)
        engine.gate.set()
        await blocker.reply()
        found: list[Reply] = [await call.reply() for call in calls]
        assert [reply.status for reply in found] == [429, 429, 200]
        assert {reply.code for reply in found[:2]} == {"overloaded"}
        assert (await ask(server.port, {"input": "the river"})).status == 200
        assert counts(server)["vllm_srun_ready"] == 1

    on_loop(scenario())


def test_requests_of_any_length_compile_nothing_and_count_their_padding(server: Running, engine: Injected) -> None:  # noqa: ARG001
    async def scenario() -> dict[str, float]:
        calls = [await Call.send(server.port, {"input": "a " * size}) for size in range(1, 90) for _ in range(2)]
        for call in calls:
            await call.reply()
        return counts(server)

    before = counts(server)
    after = on_loop(scenario())
    compiles = 'vllm_srun_compiles_total{model="m"}'
    assert after[compiles] == before[compiles] > 0
    tokens = 0.0
    for length in (16, LIMIT):
        labels = f'{{length="{length}",model="m"}}'
        read, padding = (
            after[f"vllm_srun_{name}_tokens_total{labels}"] - before[f"vllm_srun_{name}_tokens_total{labels}"]
            for name in ("bucket", "padding")
        )
        assert read > 0
        assert (read + padding) % length == 0
        tokens += read
    assert tokens == after["vllm_srun_batch_tokens_sum"] - before["vllm_srun_batch_tokens_sum"]
