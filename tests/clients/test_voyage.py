"""Voyage's client, as released: what it always sends along is refused by name; no answer is taken for theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client

CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "embed": (lambda client: client.embed(["a"], model="embed"), "truncation"),
    "rerank": (lambda client: client.rerank("a", ["a"], model="reranker"), "top_k"),
}


@pytest.mark.parametrize("name", CALLS)
def test_its_members_are_refused(server: Running, name: str) -> None:
    package = client_package("voyageai", "clients")
    client = package.Client(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)
    call, member = CALLS[name]
    with pytest.raises(package.error.APIError, match="HTTP response code was 400") as refused:
        call(client)
    assert refused.value.json_body["error"]["code"] == "invalid_request"
    assert member in refused.value.json_body["error"]["message"]
