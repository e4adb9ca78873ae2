"""Faults that servers of this kind are known for: empty requests, bad numbers, bad packages, early requests."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from checkpoints.fixtures import write_fixture
from serving.config import ModelEntry
from serving.loaded import LoadedModel, Report
from serving.loader import LoadModel
from tests.end_to_end.asking import ask, classify, embed, refusal, rerank, series
from tests.end_to_end.packages import edit, write_small
from tests.end_to_end.server import FEW_BUCKETS, Running, running
from vela_jax.contract import Batch, Engine, Row

EMPTY: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "embeddings": ("/v1/embeddings", {"model": "embed", "input": []}),
    "classify": ("/v1/classify", {"model": "sequence", "input": []}),
    "rerank": ("/v1/rerank", {"model": "reranker", "query": "a", "documents": []}),
    "a query": ("/v1/rerank", {"model": "reranker", "query": "", "documents": ["a"]}),
    "decisions": ("/v1/decisions", {"model": "nli", "state": "a", "questions": {}}),
}
POSTS: Final = ("/v1/embeddings", "/v1/classify", "/v1/rerank", "/v1/decisions")


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_request_is_refused_and_the_next_one_answered(client: httpx.Client, name: str) -> None:
    path, body = EMPTY[name]
    for _ in range(3):
        refusal(client.post(path, json=body), 400, "invalid_request")
    assert "embedding" in embed(client, "embed", "a")[0]


def test_empty_texts_alone_and_among_others(client: httpx.Client) -> None:
    for model in ("embed", "embedding", "qwen3_embedding", "sentence_bert"):
        (alone,) = embed(client, model, "")
        first, middle, last = embed(client, model, ["a", "", "b"])
        assert middle["embedding"] == alone["embedding"]
        assert first["embedding"] != last["embedding"] or model == "embedding"
    for model in ("sequence", "scores", "spans"):
        assert classify(client, model, "") == [{"index": 0, "error": "invalid_input"}]
        first, middle, last = classify(client, model, ["a", "", {"text": ""}])
        assert [middle["error"], last["error"]] == ["invalid_input"] * 2
        assert "error" not in first
    results = classify(client, "grounded", [{"context": "a", "answer": ""}, {"context": "", "answer": "a"}])
    assert [result.get("error") for result in results] == ["invalid_input", None]
    assert rerank(client, "reranker", "a", ["a", "", "b"])[1] == {"index": 1, "error": "invalid_input"}


@pytest.mark.parametrize("model", ["embed", "embedding", "sentence_bert"])
def test_base64_holds_the_bits_of_the_numbers(client: httpx.Client, model: str) -> None:
    card = client.get(f"/v1/models/{model}").json()
    for dimension in card["embedding"]["dimensions"]:
        (coded,) = embed(client, model, "the river", dimensions=dimension)
        (numbers,) = embed(client, model, "the river", dimensions=dimension, encoding_format="float")
        data = base64.b64decode(coded["embedding"], validate=True)
        assert len(data) == 4 * dimension
        assert data == struct.pack(f"<{dimension}f", *numbers["embedding"])


def test_every_listed_dimension_is_cut_and_normed_again(client: httpx.Client) -> None:
    (whole,) = embed(client, "embed", "the river", encoding_format="float")
    for dimension in (72, 64, None):
        (entry,) = embed(client, "embed", "the river", dimensions=dimension, encoding_format="float")
        vector = entry["embedding"]
        assert len(vector) == (dimension or 72)
        assert math.sqrt(sum(value * value for value in vector)) == pytest.approx(1, abs=1e-6)
        cut = np.array(whole["embedding"][: len(vector)])
        assert vector == pytest.approx((cut / np.linalg.norm(cut)).tolist(), abs=1e-6)


@pytest.mark.parametrize("dimension", [0, -1, 1.0, 64.0, True, False, 63, 65, 71, 4096, 2**63, "64", [64]])
def test_other_dimensions_are_refused(client: httpx.Client, dimension: Any) -> None:
    body = {"model": "embed", "input": "a", "dimensions": dimension}
    assert "dimensions" in refusal(client.post("/v1/embeddings", json=body), 400, "invalid_request")


def test_scores_of_labels_are_independent(client: httpx.Client) -> None:
    card = client.get("/v1/models/scores").json()["heads"][0]
    results = classify(client, "scores", ["the river", "a weapon and a drug", "word " * 20])
    for result in results:
        assert len(result["scores"]) == len(card["labels"])
        assert all(0 < score < 1 for score in result["scores"])
        passed = zip(card["labels"], result["scores"], card["thresholds"], strict=True)
        assert result["selected"] == [label for label, score, threshold in passed if score >= threshold]
    assert any(abs(sum(result["scores"]) - 1) > 0.1 for result in results)


def test_rerank_keeps_index_and_document_together(client: httpx.Client) -> None:
    documents = ["the river", "a password", " ", "the river", "open the settings"]
    body = {"model": "reranker", "query": "a river", "documents": documents, "top_n": 3, "return_documents": True}
    *scored, blank = ask(client, "/v1/rerank", body)["results"]
    assert blank == {"index": 2, "error": "invalid_input"}
    assert len(scored) == 3
    assert all(result["document"] == documents[result["index"]] for result in scored)
    every = rerank(client, "reranker", "a river", documents)
    assert every[0]["logit"] == every[3]["logit"]
    order = sorted((index for index in every if index != 2), key=lambda index: (-every[index]["logit"], index))
    assert list(every) == [*order, 2]
    assert [result["index"] for result in scored] == order[:3]


def test_a_list_of_equal_documents_is_in_order(client: httpx.Client) -> None:
    results = rerank(client, "reranker", "a", ["the river"] * 40)
    assert list(results) == list(range(40))
    assert len({result["logit"] for result in results.values()}) == 1


# Loading


class Gate:
    """Loads nothing until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def wrap(self, load: LoadModel) -> LoadModel:
        def wait_and_load(entry: ModelEntry, report: Report) -> LoadedModel:
            report("waiting for the test", 0, 0)
            assert self.opened.wait(60)
            return load(entry, report)

        return wait_and_load


def test_every_request_while_loading_is_not_ready(tmp_path: Path) -> None:
    gate = Gate()
    entry = ModelEntry(model=str(write_small(tmp_path / "embedding", "embedding", 64)))
    with (
        running([entry], args=FEW_BUCKETS, wrap=gate.wrap, wait=False) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        for path in POSTS:
            for body in (b"{", b"", b'{"model":"embedding","input":"a"}', b'{"model":"other"}', b"\xff"):
                response = client.post(path, content=body)
                refusal(response, 503, "not_ready")
                assert "server-timing" in response.headers
        health = client.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "loading")
        assert client.get("/health/live").status_code == 200
        assert client.get("/v1/models").json()["data"][0]["ready"] is False
        gate.opened.set()
        server.loader.join(60)
        assert client.get("/health").status_code == 200
        assert "embedding" in embed(client, "embedding", "a")[0]


def test_a_model_that_loads_does_not_hold_up_the_others(tmp_path: Path) -> None:
    gate = Gate()
    paths = [str(write_small(tmp_path / name, "embedding", 64)) for name in ("first", "second")]
    entries = [ModelEntry(model=paths[0], name="first"), ModelEntry(model=paths[1], name="second")]

    def wrap(load: LoadModel) -> LoadModel:
        slow = gate.wrap(load)
        return lambda entry, report: (slow if entry.name == "second" else load)(entry, report)

    with (
        running(entries, args=FEW_BUCKETS, wrap=wrap, wait=False) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        _wait_for(lambda: client.get("/health").json()["models"]["first"]["status"] == "ready")
        assert client.get("/health").status_code == 503
        assert "embedding" in embed(client, "first", "a")[0]
        refusal(client.post("/v1/embeddings", json={"model": "second", "input": "a"}), 503, "not_ready")
        refusal(client.post("/v1/embeddings", json={"model": "third", "input": "a"}), 404, "model_not_found")
        gate.opened.set()
        server.loader.join(60)
        assert "embedding" in embed(client, "second", "a")[0]


@pytest.mark.parametrize("start", range(3))
def test_the_first_request_after_ready_is_answered(tmp_path: Path, start: int) -> None:
    entry = ModelEntry(model=str(write_small(tmp_path / "embedding", "embedding", 64, seed=start)))
    with (
        running([entry], args=FEW_BUCKETS, wait=False) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        _wait_for(lambda: client.get("/health").status_code == 200)
        assert "embedding" in embed(client, "embedding", "a")[0]


# Packages at fault


def _cut_weights(package: Path) -> str:
    weights = package / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    return "model.safetensors"


def _garble_header(package: Path) -> str:
    weights = package / "model.safetensors"
    weights.write_bytes(b"\xff" * 8 + weights.read_bytes()[8:])
    return "model.safetensors"


def _empty_weights(package: Path) -> str:
    (package / "model.safetensors").write_bytes(b"")
    return "model.safetensors"


def _garble_config(package: Path) -> str:
    (package / "config.json").write_text('{"model_type": "modernbert"', encoding="utf-8")
    return "config.json"


def _list_config(package: Path) -> str:
    (package / "config.json").write_text("[1, 2]", encoding="utf-8")
    return "config.json"


def _name_foreign_architecture(package: Path) -> str:
    edit(package / "config.json", {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]})
    return "t5"


def _widen(package: Path) -> str:
    edit(package / "config.json", {"hidden_size": 128, "num_attention_heads": 8})
    return "128"


def _garble_tokenizer(package: Path) -> str:
    (package / "tokenizer.json").write_text('{"version": "1.0", "model": {"type": "Unknown"}}', encoding="utf-8")
    return "tokenizer.json"


def _remove_tokenizer(package: Path) -> str:
    (package / "tokenizer.json").unlink()
    return "tokenizer.json"


def _poison_weights(package: Path) -> str:
    weights = package / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-64:] = np.full(16, np.nan, np.float32).tobytes()
    weights.write_bytes(data)
    return "readiness request"


def _empty(package: Path) -> str:
    for path in package.rglob("*"):
        if path.is_file():
            path.unlink()
    return "config.json"


BREAK: Final = (
    _cut_weights,
    _garble_header,
    _empty_weights,
    _garble_config,
    _list_config,
    _name_foreign_architecture,
    _widen,
    _garble_tokenizer,
    _remove_tokenizer,
    _poison_weights,
    _empty,
)


def test_packages_at_fault_fail_by_name_and_the_others_answer(tmp_path: Path) -> None:
    wanted = {}
    entries = []
    for number, damage in enumerate(BREAK):
        name = damage.__name__.strip("_")
        package = write_fixture(tmp_path / name, "guard", seed=number)
        wanted[name] = damage(package)
        entries.append(ModelEntry(model=str(package), name=name))
    entries.insert(4, ModelEntry(model=str(write_small(tmp_path / "sound", "guard", 64)), name="sound"))
    with running(entries, args=FEW_BUCKETS) as server, httpx.Client(base_url=server.url) as client:
        health = client.get("/health")
        assert health.status_code == 503
        assert health.json()["status"] == "degraded"
        states = health.json()["models"]
        assert states.pop("sound") == {"status": "ready", "reason": None}
        for name, part in wanted.items():
            assert (name, states[name]["status"]) == (name, "failed")
            assert part in states[name]["reason"], (name, states[name]["reason"])
            assert "Traceback" not in states[name]["reason"]
            body = {"model": name, "input": "a"}
            assert part in refusal(client.post("/v1/classify", json=body), 503, "not_ready")
        assert "label" in classify(client, "sound", "a")[0]
        assert client.get("/health/live").status_code == 200
        cards = {card["id"]: card for card in client.get("/v1/models").json()["data"]}
        assert [name for name, card in cards.items() if card["ready"]] == ["sound"]
        assert series(client)["vllm_srun_ready"] == 0


def test_a_process_whose_only_model_failed_stays_up_and_says_why(tmp_path: Path) -> None:
    package = write_fixture(tmp_path / "guard", "guard")
    _cut_weights(package)
    with running([ModelEntry(model=str(package))]) as server, httpx.Client(base_url=server.url) as client:
        for _ in range(3):
            health = client.get("/health")
            assert (health.status_code, health.json()["status"]) == (503, "failed")
            assert "model.safetensors" in health.json()["reason"]
        refusal(client.post("/v1/classify", json={"input": "a"}), 503, "not_ready")
        assert client.get("/metrics").status_code == 200


# Numbers that are none


class Spoiled:
    """An engine that answers rows with a mark among their tokens with what is not a number, or breaks at them."""

    def __init__(self, engine: Engine, mark: int, breaker: int) -> None:
        self._engine = engine
        self._mark = mark
        self._breaker = breaker

    def prepare(self, rows: Sequence[Row]) -> list[Future[None]]:
        return self._engine.prepare(rows)

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        return self._engine.batches(rows)

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        if any(self._breaker in rows[index].ids for index in batch.indices):
            raise RuntimeError("this forward breaks")
        outputs = self._engine.run(rows, batch)
        marked = [self._mark in rows[index].ids for index in batch.indices]
        spoiled = [np.where(np.arange(output.size).reshape(output.shape) == 0, np.nan, output) for output in outputs]
        pairs = zip(outputs, spoiled, marked, strict=True)
        return [bad.astype(np.float32) if is_marked else output for output, bad, is_marked in pairs]


BAD: Final = "bad <mask> text"
BREAKS: Final = "this <pad> breaks"


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server whose engines give a row with `<mask>` bad numbers and break at a row with `<pad>`."""
    root = tmp_path_factory.mktemp("spoiled")
    names = ("embedding", "reranker", "guard")
    entries = [ModelEntry(model=str(write_small(root / name, name, 96)), name=name) for name in names]

    def wrap(load: LoadModel) -> LoadModel:
        def load_and_spoil(entry: ModelEntry, report: Report) -> LoadedModel:
            loaded = load(entry, report)
            return dataclasses.replace(loaded, engine=Spoiled(loaded.engine, mark=4, breaker=0))

        return load_and_spoil

    with (
        running(entries, args=FEW_BUCKETS, wrap=wrap) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        yield client


def test_a_row_of_bad_numbers_fails_alone(spoiled: httpx.Client) -> None:
    (alone,) = embed(spoiled, "embedding", "the river")
    first, bad, last = embed(spoiled, "embedding", ["the river", BAD, "the sea"])
    assert first == alone
    assert bad["error"] == "invalid_model_output"
    assert "embedding" not in bad
    assert "embedding" in last
    labels = classify(spoiled, "guard", ["the river", BAD, "the sea"])
    assert [result.get("error") for result in labels] == [None, "invalid_model_output", None]
    ranked = rerank(spoiled, "reranker", "the river", ["a", BAD, "b"])
    assert [ranked[index].get("error") for index in range(3)] == [None, "invalid_model_output", None]
    assert list(ranked)[-1] == 1


def test_a_request_of_bad_numbers_beside_others(spoiled: httpx.Client) -> None:
    texts = ["the river", BAD, "the sea"] * 4
    with ThreadPoolExecutor(len(texts)) as pool:
        entries = list(pool.map(lambda text: embed(spoiled, "embedding", [text])[0], texts))
    assert [entry.get("error") for entry in entries] == [None, "invalid_model_output", None] * 4
    assert "embedding" in embed(spoiled, "embedding", "the next one")[0]


def test_bad_numbers_are_not_kept(spoiled: httpx.Client) -> None:
    for _ in range(2):
        assert embed(spoiled, "embedding", [BAD])[0]["error"] == "invalid_model_output"


def test_a_forward_that_breaks_fails_its_own_request(spoiled: httpx.Client) -> None:
    body = {"model": "embedding", "input": ["the river", BREAKS]}
    message = refusal(spoiled.post("/v1/embeddings", json=body), 500, "internal_error")
    assert message == "RuntimeError: this forward breaks"
    assert "embedding" in embed(spoiled, "embedding", "the next one")[0]
    assert spoiled.get("/health").status_code == 200
    assert series(spoiled)["vllm_srun_queue_depth"] == 0


# Metrics


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Running]:
    """A server that nobody has asked anything."""
    entry = ModelEntry(model=str(write_small(tmp_path / "embedding", "embedding", 64)), name="embedding")
    with running([entry], args=FEW_BUCKETS) as server:
        yield server


COUNTERS: Final = (
    "requests_total",
    "questions_total",
    "input_tokens_total",
    "request_duration_seconds_count",
    "queue_duration_seconds_count",
    "forward_duration_seconds_count",
    "batch_rows_count",
    "batch_tokens_count",
    "deadline_dropped_questions_total",
    "result_cache_total",
    "bundle_tasks_count",
    "queue_depth",
)


def test_metrics_stand_at_zero_before_traffic_and_keep_their_number(counted: Running) -> None:
    with httpx.Client(base_url=counted.url, timeout=60) as client:
        before = series(client)
        for name in COUNTERS:
            values = [value for each, value in before.items() if each.split("{")[0] == f"vllm_srun_{name}"]
            assert values, name
            assert set(values) == {0.0}, name
        assert before["vllm_srun_ready"] == 1
        assert before['vllm_srun_model_memory_bytes{model="embedding"}'] > 0
        for number in range(300):
            client.post(f"/v1/unknown/{number}", json={})
            client.get(f"/{number}?a={number}")
            client.post("/v1/embeddings", json={"model": f"unknown-{number}", "input": "a"})
        embed(client, "embedding", [f"text {number}" for number in range(20)])
        assert set(series(client)) == set(before)


def test_the_queue_is_seen_under_load(counted: Running) -> None:
    body = {"model": "embedding", "input": [f"{'the sea ' * size}" for size in range(20)]}
    depths: list[float] = []
    with httpx.Client(base_url=counted.url, timeout=60) as client, ThreadPoolExecutor(32) as pool:
        calls = [
            pool.submit(_post_alone, counted.url, {**body, "input": [f"{n} {t}" for t in body["input"]]})
            for n in range(32)
        ]
        while not all(call.done() for call in calls):
            depths.append(series(client)["vllm_srun_queue_depth"])
        assert [call.result() for call in calls] == [200] * 32
        assert max(depths) > 0
        after = series(client)
        assert after["vllm_srun_queue_depth"] == 0
        assert after['vllm_srun_requests_total{endpoint="/v1/embeddings",status="200"}'] == 32


def _post_alone(url: str, body: dict[str, Any]) -> int:
    return httpx.post(f"{url}/v1/embeddings", content=json.dumps(body), timeout=60).status_code


def _wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
