"""The OpenAI client, sync and async, as released."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.asking import embed
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client
openai = client_package("openai")

TEXTS = ["the river is long", "日本語のテキスト", "a"]


class Calls(list[httpx.Request]):
    """The requests that went out."""

    def note(self, request: httpx.Request) -> None:
        self.append(request)


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def client(server: Running, calls: Calls) -> Iterator[Any]:
    http_client = openai.DefaultHttpxClient(event_hooks={"request": [calls.note]})
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, http_client=http_client) as client:
        yield client


@pytest.fixture
def wanted(plain: httpx.Client) -> list[bytes]:
    """Bits of the vectors of TEXTS."""
    return [bits(entry["embedding"]) for entry in embed(plain, "embed", TEXTS, encoding_format="float")]


def bits(vector: Any) -> bytes:
    """A vector as float32."""
    return struct.pack(f"<{len(vector)}f", *vector)


def vectors(answer: Any) -> list[bytes]:
    return [bits(entry.embedding) for entry in answer.data]


def test_every_format_gives_the_same_bits(client: Any, wanted: list[bytes], plain: httpx.Client) -> None:
    default = client.embeddings.create(model="embed", input=TEXTS)
    numbers = client.embeddings.create(model="embed", input=TEXTS, encoding_format="float")
    coded = client.embeddings.create(model="embed", input=TEXTS, encoding_format="base64")
    assert vectors(default) == vectors(numbers) == wanted
    assert [entry.embedding for entry in coded.data] == [entry["embedding"] for entry in embed(plain, "embed", TEXTS)]
    assert [entry.index for entry in default.data] == [0, 1, 2]
    assert (default.object, default.model) == ("list", "embed")
    assert default.usage.prompt_tokens == default.usage.total_tokens > 0


def test_one_text(client: Any, wanted: list[bytes]) -> None:
    answer = client.embeddings.create(model="embed", input=TEXTS[0], user="someone")
    assert vectors(answer) == wanted[:1]


async def _create_async(server: Running, **members: Any) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
        return await client.embeddings.create(model="embed", **members)


def test_the_async_client(server: Running, wanted: list[bytes]) -> None:
    assert vectors(asyncio.run(_create_async(server, input=TEXTS))) == wanted
    numbers = asyncio.run(_create_async(server, input=TEXTS, encoding_format="float"))
    assert vectors(numbers) == wanted
    with pytest.raises(openai.BadRequestError):
        asyncio.run(_create_async(server, input=[]))


def test_300_texts_in_order(client: Any) -> None:
    texts = [f"number {number}" for number in range(300)]
    answer = client.embeddings.create(model="embed", input=texts)
    assert [entry.index for entry in answer.data] == list(range(300))
    for number in (0, 1, 150, 299):
        assert vectors(client.embeddings.create(model="embed", input=texts[number])) == [vectors(answer)[number]]


def test_every_dimension_of_the_card(client: Any, plain: httpx.Client) -> None:
    card = plain.get("/v1/models/embed").json()
    dimensions = card["embedding"]["dimensions"]
    assert len(dimensions) > 1
    for dimension in dimensions:
        for encoding_format in ("float", openai.NOT_GIVEN):
            answer = client.embeddings.create(
                model="embed", input=TEXTS, dimensions=dimension, encoding_format=encoding_format
            )
            for entry in answer.data:
                assert len(entry.embedding) == dimension
                assert sum(value * value for value in entry.embedding) == pytest.approx(1, abs=1e-5)


def test_null_dimensions_are_the_default(client: Any, wanted: list[bytes], calls: Calls) -> None:
    assert vectors(client.embeddings.create(model="embed", input=TEXTS, dimensions=None)) == wanted
    assert b'"dimensions":null' in calls[-1].content.replace(b" ", b"")


def test_a_null_format_is_refused_by_name(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="encoding_format"):
        client.embeddings.create(model="embed", input=TEXTS, encoding_format=None)


def test_an_empty_text_has_a_vector_and_harms_nobody(client: Any, wanted: list[bytes]) -> None:
    first, empty, last = vectors(client.embeddings.create(model="embed", input=[TEXTS[0], "", TEXTS[1]]))
    assert [first, last] == wanted[:2]
    assert len(empty) == len(first)


def test_a_text_over_the_limit_has_no_vector_and_harms_nobody(client: Any, wanted: list[bytes]) -> None:
    texts = [TEXTS[0], "the river " * 3000, TEXTS[1]]
    first, failed, last = client.embeddings.create(model="embed", input=texts, encoding_format="float").data
    assert [bits(first.embedding), bits(last.embedding)] == wanted[:2]
    assert (failed.embedding, failed.error) == (None, "max_length_exceeded")


def test_models(client: Any) -> None:
    cards = list(client.models.list())
    assert [card.id for card in cards] == ["embed", "acme/embed", "reranker", "guard"]
    assert {card.object for card in cards} == {"model"}
    assert all(isinstance(card.created, int) and card.owned_by for card in cards)


@pytest.mark.parametrize("name", ["embed", "acme/embed", "reranker"])
def test_one_model(client: Any, name: str) -> None:
    assert client.models.retrieve(name).id == name


@pytest.mark.parametrize("name", ["unknown", "acme/unknown", "acme", "embed/"])
def test_an_unknown_model_is_not_found(client: Any, calls: Calls, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve(name)
    assert (refused.value.code, len(calls)) == ("model_not_found", 1)
    assert "embed" in refused.value.message


def test_a_name_with_a_slash_answers(client: Any, wanted: list[bytes]) -> None:
    answer = client.embeddings.create(model="acme/embed", input=TEXTS)
    assert (answer.model, vectors(answer)) == ("acme/embed", wanted)


REFUSED: dict[str, tuple[int, str, str, dict[str, Any]]] = {
    "dimension": (400, "invalid_request", "dimensions", {"dimensions": 65}),
    "dimension zero": (400, "invalid_request", "dimensions", {"dimensions": 0}),
    "tokens": (400, "invalid_request", "input", {"input": [1, 2, 3]}),
    "lists of tokens": (400, "invalid_request", "input", {"input": [[1, 2], [3]]}),
    "no inputs": (400, "invalid_request", "input", {"input": []}),
    "member": (400, "invalid_request", "colour", {"extra_body": {"colour": "blue"}}),
    "option": (400, "invalid_request", "colour", {"extra_body": {"options": {"colour": "blue"}}}),
    "format": (400, "invalid_request", "encoding_format", {"encoding_format": "hex"}),
    "model": (404, "model_not_found", "embed", {"model": "unknown"}),
    "surface": (422, "unsupported_surface", "guard", {"model": "guard"}),
}
CLASSES = {400: "BadRequestError", 404: "NotFoundError", 422: "UnprocessableEntityError"}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_have_code_and_message_and_are_asked_once(client: Any, calls: Calls, name: str) -> None:
    status, code, part, members = REFUSED[name]
    with pytest.raises(getattr(openai, CLASSES[status])) as refused:
        client.embeddings.create(**{"model": "embed", "input": TEXTS, **members})
    error = refused.value
    assert (error.status_code, error.code, len(calls)) == (status, code, 1)
    assert part in error.message
    assert error.body["message"]
    assert error.request_id == error.response.headers["x-request-id"]


def test_request_ids(client: Any) -> None:
    answers = [client.embeddings.create(model="embed", input="a") for _ in range(3)]
    assert len({answer._request_id for answer in answers} - {None}) == 3


def test_parallel_calls_are_not_mixed_up(client: Any, server: Running) -> None:
    texts = [f"call {number}" for number in range(24)]
    alone = [vectors(client.embeddings.create(model="embed", input=text)) for text in texts]
    with ThreadPoolExecutor(24) as pool:
        together = pool.map(lambda text: vectors(client.embeddings.create(model="embed", input=text)), texts)
    assert list(together) == alone
    assert asyncio.run(_ask_all(server, texts)) == alone


async def _ask_all(server: Running, texts: list[str]) -> list[list[bytes]]:
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
        calls = (client.embeddings.create(model="embed", input=text) for text in texts)
        return [vectors(answer) for answer in await asyncio.gather(*calls)]


def test_decisions_of_a_model_without_them_are_refused_by_name(client: Any) -> None:
    question = {"type": "predicate", "instructions": "the text names a river"}
    with pytest.raises(openai.UnprocessableEntityError, match="guard does not serve decisions; it serves classify"):
        client.decisions.create(model="guard", input="the river", questions=[question])
