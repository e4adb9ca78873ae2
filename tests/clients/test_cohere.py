"""Cohere's client, as released: rerank in its first version; what this server does not have is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.asking import rerank
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client
cohere = client_package("cohere")

QUERY = "How do I reset my password?"
DOCUMENTS = ["Our offices are closed on holidays.", "Open the settings and reset it.", " ", "the river", "a password"]


@pytest.fixture
def client(server: Running) -> Iterator[Any]:
    with cohere.Client(api_key=KEY, base_url=server.url) as client:
        yield client


def test_scores_fall_and_a_blank_document_comes_last(client: Any, plain: httpx.Client) -> None:
    results = client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS).results
    scores = [result.relevance_score for result in results[:-1]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert (results[-1].index, results[-1].error) == (2, "invalid_input")
    expected = rerank(plain, "reranker", QUERY, DOCUMENTS)
    assert [result.index for result in results] == list(expected)
    assert [result.logit for result in results[:-1]] == [expected[result.index]["logit"] for result in results[:-1]]


def test_top_n_and_documents(client: Any) -> None:
    every = client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS).results
    results = client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS, top_n=2, return_documents=True).results
    assert [result.index for result in results] == [every[0].index, every[1].index, 2]
    assert [result.document for result in results[:2]] == [DOCUMENTS[result.index] for result in results[:2]]


def test_the_async_client(server: Running, client: Any) -> None:
    async def ask() -> Any:
        async with cohere.AsyncClient(api_key=KEY, base_url=server.url) as client:
            return await client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS[:2])

    alone = client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS[:2]).results
    assert [result.logit for result in asyncio.run(ask()).results] == [result.logit for result in alone]


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "a blank query": ("query", {"query": " "}),
    "no documents": ("documents", {"documents": []}),
    "documents that are objects": ("documents", {"documents": [{"text": "a"}]}),
    "fields of documents": ("rank_fields", {"rank_fields": ["text"]}),
    "chunks": ("max_chunks_per_doc", {"max_chunks_per_doc": 2}),
    "top_n": ("top_n", {"top_n": 0}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_member(client: Any, name: str) -> None:
    part, members = REFUSED[name]
    with pytest.raises(cohere.BadRequestError) as refused:
        client.rerank(**{"model": "reranker", "query": QUERY, "documents": DOCUMENTS, **members})
    assert refused.value.body["error"]["code"] == "invalid_request"
    assert part in refused.value.body["error"]["message"]


def test_an_unknown_model(client: Any) -> None:
    with pytest.raises(cohere.NotFoundError) as refused:
        client.rerank(model="unknown", query=QUERY, documents=DOCUMENTS)
    assert refused.value.body["error"]["code"] == "model_not_found"


def test_its_classify_is_refused_by_name(client: Any) -> None:
    with pytest.raises(cohere.BadRequestError) as refused:
        client.classify(model="guard", inputs=["the river"])
    assert "inputs" in refused.value.body["error"]["message"]


def test_its_second_version_is_not_found(server: Running) -> None:
    with cohere.ClientV2(api_key=KEY, base_url=server.url) as client, pytest.raises(cohere.NotFoundError) as refused:
        client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS)
    assert refused.value.body["error"]["code"] == "invalid_request"
