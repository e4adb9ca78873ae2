"""LangChain's OpenAI embeddings, as released."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.asking import embed
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client
langchain_openai = client_package("langchain_openai")
openai = client_package("openai")

TEXTS = ["the river is long", "line one\nline two", "日本語のテキスト"]


@pytest.fixture
def http_client() -> Iterator[Any]:
    with openai.DefaultHttpxClient() as http_client:
        yield http_client


def embeddings(server: Running, **members: Any) -> Any:
    return langchain_openai.OpenAIEmbeddings(
        **{
            "model": "embed",
            "base_url": f"{server.url}/v1",
            "api_key": KEY,
            "check_embedding_ctx_length": False,
            **members,
        }
    )


def numbers(plain: httpx.Client, texts: list[str], **members: Any) -> list[list[float]]:
    return [entry["embedding"] for entry in embed(plain, "embed", texts, encoding_format="float", **members)]


def test_documents_and_queries(server: Running, plain: httpx.Client, http_client: Any) -> None:
    client = embeddings(server, http_client=http_client)
    assert client.embed_documents(TEXTS) == numbers(plain, TEXTS)
    assert client.embed_query(TEXTS[0]) == numbers(plain, TEXTS[:1])[0]


def test_async_documents(server: Running, plain: httpx.Client) -> None:
    async def ask() -> Any:
        async with openai.DefaultAsyncHttpxClient() as http_client:
            return await embeddings(server, http_async_client=http_client).aembed_documents(TEXTS)

    assert asyncio.run(ask()) == numbers(plain, TEXTS)


def test_dimensions(server: Running, plain: httpx.Client, http_client: Any) -> None:
    client = embeddings(server, http_client=http_client, dimensions=64)
    assert client.embed_documents(TEXTS) == numbers(plain, TEXTS, dimensions=64)


def test_more_texts_than_one_of_its_batches(server: Running, plain: httpx.Client, http_client: Any) -> None:
    texts = [f"number {number}" for number in range(25)]
    assert embeddings(server, http_client=http_client, chunk_size=10).embed_documents(texts) == numbers(plain, texts)


def test_token_numbers_are_refused(server: Running, http_client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="input"):
        embeddings(server, http_client=http_client).client.create(model="embed", input=[[1, 2, 3]])
