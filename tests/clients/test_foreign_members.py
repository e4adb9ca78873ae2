"""Members that clients of other services always send: refused by name, so that nobody takes the answer for theirs."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.end_to_end.asking import refusal

EMBED = {"model": "embed", "input": ["a"]}
RERANK = {"model": "reranker", "query": "a", "documents": ["a"]}
FOREIGN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "embeddings": ("/v1/embeddings", EMBED, {"truncation": True, "output_dtype": None, "output_dimension": None}),
    "rerank": ("/v1/rerank", RERANK, {"top_k": 3, "truncation": True}),
    "classify": ("/v1/classify", {"model": "guard", "input": "a"}, {"examples": [], "truncate": "END"}),
    "decisions": (
        "/v1/decisions",
        {"model": "guard", "state": "a", "questions": {"q": {}}},
        {"facts": [], "calibration": "raw"},
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_members_are_refused_by_name(plain: httpx.Client, name: str) -> None:
    path, body, foreign = FOREIGN[name]
    message = refusal(plain.post(path, json={**body, **foreign}), 400, "invalid_request")
    assert all(member in message for member in foreign)


@pytest.mark.parametrize("name", ["embeddings", "rerank", "classify"])
def test_without_them_the_request_is_answered(plain: httpx.Client, name: str) -> None:
    path, body, _ = FOREIGN[name]
    assert plain.post(path, json=body).status_code == 200


@pytest.mark.parametrize("path", ["/v2/rerank", "/v1/decide", "/v2/embed", "/v1/chat/completions", "/embeddings"])
def test_foreign_endpoints_are_not_found_in_json(plain: httpx.Client, path: str) -> None:
    assert path in refusal(plain.post(path, json={}), 404, "invalid_request")


def test_credentials_are_taken_and_ignored(plain: httpx.Client) -> None:
    answers = [
        plain.post("/v1/embeddings", json=EMBED, headers={"authorization": value}).content
        for value in ("Bearer x", "Basic eDp5", "nonsense")
    ]
    assert set(answers) == {plain.post("/v1/embeddings", json=EMBED).content}
