"""The benchmark's own arithmetic, and its requests against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.determinism import _ask
from bench.latency import PHASES, measure, percentile, read_phases
from bench.process import Server, free_port
from bench.workload import PATHS, bodies, texts
from checkpoints.fixtures import write_fixture
from serving.config import ModelEntry
from tests.end_to_end.server import Running, running

VARIANTS = ("sequence", "grounded", "nli", "embedding", "reranker")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with one model a surface."""
    folder = tmp_path_factory.mktemp("packages")
    for variant in VARIANTS:
        write_fixture(folder / variant, variant)
    with running([ModelEntry(model=str(folder / variant)) for variant in VARIANTS]) as server:
        yield server


def test_phases_are_read_from_the_header() -> None:
    header = "parse;dur=0.100, tokenize;dur=0.200, queue;dur=0.000, forward;dur=3.500, post;dur=0.1, total;dur=4.000"
    assert read_phases(header)["forward"] == 3.5
    assert list(read_phases(header)) == ["parse", "tokenize", "queue", "forward", "post", "total"]


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 3.0), (0.95, 4.0), (1.0, 4.0)])
def test_percentiles(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value


def test_texts_differ_and_follow_their_seed() -> None:
    first, second = texts(8), texts(8)
    found = [next(first) for _ in range(50)]
    assert found == [next(second) for _ in range(50)]
    assert len(set(found)) == 50


@pytest.mark.parametrize("callers", [1, 3])
def test_every_surface_of_every_model_answers(server: Running, callers: int) -> None:
    cards = httpx.get(f"{server.url}/v1/models").json()["data"]
    assert len(cards) == len(VARIANTS)

    async def run() -> None:
        async with httpx.AsyncClient(base_url=server.url) as client:
            for card in cards:
                for surface in card["surfaces"]:
                    found = await measure(client, PATHS[surface], bodies(card, surface, 6, 5), callers)
                    assert found.calls == 6
                    assert set(found.p50) == {*PHASES, "overhead", "wall"}
                    assert found.p50["total"] <= found.p95["wall"]

    asyncio.run(run())


def test_a_failing_call_ends_the_measurement(server: Running) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(base_url=server.url) as client:
            await measure(client, "/v1/embeddings", [{"input": "x", "model": "nobody"}], 1)

    with pytest.raises(RuntimeError, match="answered 404"):
        asyncio.run(run())


def test_the_targets_answer_is_found_at_every_place(server: Running, tmp_path: Path) -> None:
    probe = Server(process=None, url=server.url, log=tmp_path)  # type: ignore[arg-type]
    for card in httpx.get(f"{server.url}/v1/models").json()["data"]:
        surface = next(name for name in ("embeddings", "classify", "rerank") if name in card["surfaces"])
        answers = {
            _ask(probe, card, surface, inputs, inputs.index("target")) for inputs in (["target"], ["a", "target"])
        }
        assert len(answers) == 1


def test_a_free_port_is_free() -> None:
    assert 1024 <= free_port() <= 65535
