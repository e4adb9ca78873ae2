"""LlamaIndex's OpenAI embeddings, as released."""

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
llama_index = client_package("llama_index.embeddings.openai")
openai = client_package("openai")

TEXTS = ["the river is long", "line one\nline two", "日本語のテキスト"]


@pytest.fixture
def http_client() -> Iterator[Any]:
    with openai.DefaultHttpxClient() as http_client:
        yield http_client


def embedding(server: Running, **members: Any) -> Any:
    return llama_index.OpenAIEmbedding(model_name="embed", api_base=f"{server.url}/v1", api_key=KEY, **members)


def numbers(plain: httpx.Client, texts: list[str], **members: Any) -> list[list[float]]:
    """Vectors of the texts with newlines as blanks, which is how this client sends them."""
    sent = [text.replace("\n", " ") for text in texts]
    return [entry["embedding"] for entry in embed(plain, "embed", sent, encoding_format="float", **members)]


def test_texts_and_queries(server: Running, plain: httpx.Client, http_client: Any) -> None:
    client = embedding(server, http_client=http_client)
    assert client.get_text_embedding_batch(TEXTS) == numbers(plain, TEXTS)
    assert client.get_text_embedding(TEXTS[1]) == numbers(plain, TEXTS[1:2])[0]
    assert client.get_query_embedding(TEXTS[0]) == numbers(plain, TEXTS[:1])[0]


def test_async_texts(server: Running, plain: httpx.Client) -> None:
    async def ask() -> Any:
        async with openai.DefaultAsyncHttpxClient() as http_client:
            return await embedding(server, async_http_client=http_client).aget_text_embedding_batch(TEXTS)

    assert asyncio.run(ask()) == numbers(plain, TEXTS)


def test_dimensions(server: Running, plain: httpx.Client, http_client: Any) -> None:
    client = embedding(server, http_client=http_client, dimensions=64)
    assert client.get_text_embedding_batch(TEXTS) == numbers(plain, TEXTS, dimensions=64)


def test_more_texts_than_one_of_its_batches(server: Running, plain: httpx.Client, http_client: Any) -> None:
    texts = [f"number {number}" for number in range(25)]
    assert embedding(server, http_client=http_client, embed_batch_size=10).get_text_embedding_batch(texts) == numbers(
        plain, texts
    )
