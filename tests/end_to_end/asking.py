"""Requests that the tests share, and what comes back of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx


def embed(client: httpx.Client, model: str, texts: Any, **members: Any) -> list[dict[str, Any]]:
    """The `data` of an embeddings answer, vectors as base64 unless asked otherwise."""
    body = {"encoding_format": "base64", **members, "model": model, "input": texts}
    data: list[dict[str, Any]] = ask(client, "/v1/embeddings", body)["data"]
    return data


def classify(client: httpx.Client, model: str, items: Any, **options: Any) -> list[dict[str, Any]]:
    """The `results` of a classify answer."""
    body = {"model": model, "input": items, "options": options}
    results: list[dict[str, Any]] = ask(client, "/v1/classify", body)["results"]
    return results


def rerank(
    client: httpx.Client, model: str, query: str, documents: list[str], **members: Any
) -> dict[int, dict[str, Any]]:
    """The results of a rerank answer by index, in the order of the answer."""
    answer = ask(client, "/v1/rerank", {**members, "model": model, "query": query, "documents": documents})
    return {result["index"]: result for result in answer["results"]}


def ask(client: httpx.Client, path: str, body: Any) -> Any:
    """The answer of a request that must succeed."""
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text[:300]
    return response.json()


def refusal(response: httpx.Response, status: int, code: str) -> str:
    """The message of a refused request."""
    assert response.status_code == status, response.text[:300]
    error = response.json()["error"]
    assert error["code"] == code
    message: str = error["message"]
    return message


def series(client: httpx.Client) -> dict[str, float]:
    """Every series of the metrics by its name and labels."""
    return dict(_series(client.get("/metrics").text))


def _series(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            yield name, float(value)


def text_of_numbers(value: Any) -> str:
    """Numbers as they came: equal texts have equal bits."""
    return json.dumps(value)
