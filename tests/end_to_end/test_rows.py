"""The promise: an answer has the same bits alone, in any list, at any place, beside any other request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest

from serving.config import Bounds, ModelEntry
from tests.end_to_end.asking import classify, embed, rerank, series, text_of_numbers
from tests.end_to_end.packages import HANDED, write_small
from tests.end_to_end.server import Running, running
from vela_jax.forward.engine_args import EngineArgs

TEXT: Final = "a small cat sat by the river"
MATES: Final = tuple(
    " ".join(("the sea is blue", str(number), "word " * size))
    for number, size in enumerate((0, 3, 1, 30, 7, 2, 60, 5, 4, 0, 20, 6))
)
ARGS: Final = EngineArgs(warmup=(64, 256), background=(), row_buckets=(1, 4), length_buckets=(256,))
MORE: Final = {"row_buckets": [1, 2, 8], "length_buckets": [64, 256]}
ROUNDS: Final = 20
CALLERS: Final = 16
QUERY: Final = "How do I reset my password?"
DOCUMENTS: Final = ("Open the settings, then choose reset.", *MATES[:10])
QUESTION: Final = "When was the tower completed?"
SHORT: Final = {"question": QUESTION, "context": "It was completed in 1889.", "answer": "In 1889 in Rome."}
LONG: Final = {**SHORT, "context": "the river and " * 65, "answer": "the river is not blue"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that runs rows together wherever the probe finds that they keep their bits; it keeps no results."""
    root = tmp_path_factory.mktemp("rows")
    entries = [ModelEntry(model=str(HANDED / "embed"), name="embed", engine_args=MORE)]
    for variant, limit in (("reranker", 256), ("grounded", 512), ("sequence", 256)):
        entries.append(ModelEntry(model=str(write_small(root / variant, variant, limit)), name=variant))
    with running(entries, bounds=Bounds(result_cache_entries=0), args=ARGS) as server:
        server.require_ready()
        yield server


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    """A client that waits until the buckets of short texts are complete."""
    with httpx.Client(base_url=server.url, timeout=120) as client:
        end = time.monotonic() + 120
        while not all(is_filled(card) for card in client.get("/v1/models").json()["data"]):
            assert time.monotonic() < end
            time.sleep(0.1)
        yield client


def is_filled(card: dict[str, Any]) -> bool:
    """Whether every row count of the first bucket is in use or was refused by the probe."""
    first = card["buckets"][0]
    return set(first["rows"]) | set(first["rejected"]) == set(card["engine_args"]["row_buckets"])


def test_rows_that_the_probe_found_equal_run_together(client: httpx.Client) -> None:
    bucket = client.get("/v1/models/embed").json()["buckets"][0]
    before = series(client)
    embed(client, "embed", mates(8))
    after = series(client)
    rows = after["vllm_srun_batch_rows_sum"] - before["vllm_srun_batch_rows_sum"]
    forwards = after["vllm_srun_batch_rows_count"] - before["vllm_srun_batch_rows_count"]
    assert rows == 8
    assert forwards < rows or bucket["rows"] == [1]


def mates(count: int) -> list[str]:
    return [MATES[number % len(MATES)] + " and" * (number // len(MATES)) for number in range(count)]


@pytest.mark.parametrize("size", [2, 3, 8, 33])
def test_a_text_has_one_vector_alone_and_in_lists(client: httpx.Client, size: int) -> None:
    (alone,) = embed(client, "embed", TEXT)
    others = mates(size - 1)
    for place in {0, size // 2, size - 1}:
        entries = embed(client, "embed", [*others[:place], TEXT, *others[place:]])
        assert entries[place] == {**alone, "index": place}


@pytest.mark.parametrize("layer", [1, 5])
def test_every_text_of_a_list_is_as_alone(client: httpx.Client, layer: int) -> None:
    texts = [TEXT, *MATES, "a", TEXT.upper(), " "]
    together = embed(client, "embed", texts, layer=layer)
    backwards = embed(client, "embed", texts[::-1], layer=layer)[::-1]
    alone = [embed(client, "embed", text, layer=layer)[0] for text in texts]
    assert all("embedding" in entry for entry in alone)
    assert (
        [entry["embedding"] for entry in together]
        == [entry["embedding"] for entry in backwards]
        == [entry["embedding"] for entry in alone]
    )


def test_one_text_asked_by_many_at_once_has_one_vector(server: Running) -> None:
    body = {"model": "embed", "input": TEXT, "encoding_format": "base64"}

    async def ask_often() -> set[str]:
        vectors = set()
        async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
            for _ in range(ROUNDS):
                answers = await asyncio.gather(*(client.post("/v1/embeddings", json=body) for _ in range(CALLERS)))
                vectors |= {answer.json()["data"][0]["embedding"] for answer in answers}
        return vectors

    assert len(asyncio.run(ask_often())) == 1


def test_different_texts_asked_at_once_keep_their_own_vectors(client: httpx.Client, server: Running) -> None:
    alone = [embed(client, "embed", text)[0]["embedding"] for text in MATES]

    async def ask_all(client: httpx.AsyncClient) -> list[str]:
        bodies = [{"model": "embed", "input": text, "encoding_format": "base64"} for text in MATES]
        answers = await asyncio.gather(*(client.post("/v1/embeddings", json=body) for body in bodies))
        return [answer.json()["data"][0]["embedding"] for answer in answers]

    async def ask_often() -> list[list[str]]:
        async with httpx.AsyncClient(base_url=server.url, timeout=120) as client:
            return [await ask_all(client) for _ in range(3)]

    assert all(vectors == alone for vectors in asyncio.run(ask_often()))


def test_token_probabilities_are_those_of_the_item_alone(client: httpx.Client) -> None:
    alone = [_grounded(client, [item])[0] for item in (SHORT, LONG)]
    assert _grounded(client, [SHORT, LONG]) == alone
    assert _grounded(client, [LONG, SHORT]) == alone[::-1]
    assert _grounded(client, [LONG, SHORT, SHORT, LONG, SHORT])[1:3] == [alone[0]] * 2


def test_labels_have_the_probabilities_of_the_text_alone(client: httpx.Client) -> None:
    together = [_without_index(result) for result in classify(client, "sequence", list(MATES))]
    alone = [_without_index(classify(client, "sequence", text)[0]) for text in MATES]
    assert text_of_numbers(together) == text_of_numbers(alone)


def test_logits_of_a_document_are_those_of_the_document_alone(client: httpx.Client) -> None:
    alone = [rerank(client, "reranker", QUERY, [document])[0] for document in DOCUMENTS]
    for documents in (DOCUMENTS, DOCUMENTS[::-1], DOCUMENTS[:4], DOCUMENTS[3:]):
        together = rerank(client, "reranker", QUERY, list(documents))
        for index, document in enumerate(documents):
            expected = alone[DOCUMENTS.index(document)]
            assert text_of_numbers(together[index]["logit"]) == text_of_numbers(expected["logit"])
            assert together[index]["relevance_score"] == expected["relevance_score"]


def test_an_order_of_documents_does_not_depend_on_how_many_are_asked_about(client: httpx.Client) -> None:
    documents = [f"{mate} number {number}" for number, mate in enumerate(mates(32))]
    logits = []
    for size in (1, 4, len(documents)):
        found: list[float] = []
        for start in range(0, len(documents), size):
            results = rerank(client, "reranker", QUERY, documents[start : start + size])
            found += [results[index]["logit"] for index in sorted(results)]
        logits.append(found)
    assert logits[0] == logits[1] == logits[2]


def test_other_exits_and_dimensions_between_change_no_answer(client: httpx.Client) -> None:
    texts = [" ".join("a" * count) for count in (13, 14, 27)]  # of different lengths and one bucket
    first: dict[str, str] = {}
    for number, text in enumerate([texts[place] for place in (0, 1, 0, 2, 0, 1)] * 2):
        vector = embed(client, "embed", text)[0]["embedding"]
        logit = rerank(client, "reranker", QUERY, [text])[0]["logit"]
        assert first.setdefault(text, vector + str(logit)) == vector + str(logit)
        embed(client, "embed", text, layer=1, dimensions=(72, 64)[number % 2])
        rerank(client, "reranker", QUERY, [text], dimensions=32)
    early = embed(client, "embed", texts[0], layer=1)[0]["embedding"]
    assert embed(client, "embed", texts, layer=1)[0]["embedding"] == early
    assert not first[texts[0]].startswith(early)


def test_the_order_of_a_full_list_is_kept(client: httpx.Client) -> None:
    texts = [f"n{number}" for number in range(2048)]
    entries = embed(client, "embed", texts)
    assert [entry["index"] for entry in entries] == list(range(2048))
    for number in range(0, 2048, 103):
        assert embed(client, "embed", texts[number])[0]["embedding"] == entries[number]["embedding"]


def _grounded(client: httpx.Client, items: list[dict[str, str]]) -> list[str]:
    """Answers as text, with the probabilities of every token."""
    results = classify(client, "grounded", items, return_tokens=True)
    return [text_of_numbers(_without_index(result)) for result in results]


def _without_index(result: dict[str, Any]) -> dict[str, Any]:
    assert "error" not in result
    return {name: value for name, value in result.items() if name != "index"}
