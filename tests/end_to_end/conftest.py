"""One server with all the packages that these tests ask, and a client of it. It keeps no results."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from serving.config import Bounds, ModelEntry
from tests.end_to_end.packages import HANDED, edit, write_alarm, write_small, write_span_finder
from tests.end_to_end.server import FEW_BUCKETS, Running, keeping_compiled, running

SMALL = {
    "sequence": 96,
    "scores": 96,
    "grounded": 512,
    "embedding": 96,
    "qwen3_embedding": 96,
    "sentence_bert": 96,
    "reranker": 256,
    "nli": 96,
}
"""Tokens of the longest input of the tiny packages, by variant; the models have the variants' names."""


@pytest.fixture(scope="package", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with keeping_compiled(tmp_path_factory):
        yield


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The tiny packages, two that find spans of known places, one that knows an alarming text, and one handed."""
    root = tmp_path_factory.mktemp("packages")
    paths = {variant: write_small(root / variant, variant, limit) for variant, limit in SMALL.items()}
    token, safety = (write_small(root / f"{variant}-source", variant, 32768) for variant in ("token", "safety"))
    paths |= {
        "spans": write_span_finder(root / "spans", token, max_position_embeddings=96),
        "spans-folding": write_span_finder(root / "spans-folding", token),
        "spans-pieces": write_span_finder(root / "spans-pieces", HANDED / "pii"),
        "alarm": write_alarm(root / "alarm", safety),
        "embed": HANDED / "embed",
    }
    edit(paths["spans-folding"] / "tokenizer.json", {"normalizer": {"type": "NFKC"}})
    entries = [ModelEntry(model=str(path), name=name) for name, path in paths.items()]
    batched = {"batching": "throughput", "max_batch_tokens": 256, "row_buckets": [1, 2]}
    entries.append(ModelEntry(model=str(HANDED / "embed"), name="batched", engine_args=batched))
    with running(entries, bounds=Bounds(result_cache_entries=0), args=FEW_BUCKETS) as server:
        server.require_ready()
        yield server


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=120) as client:
        yield client
