from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving.http.loopback import CARD, Loopback, serving


@pytest.fixture(scope="module")
def web() -> Iterator[Loopback]:
    with serving() as loopback:
        loopback.service.cards = [CARD, {"id": "a/b c", "repo": "sorter", "ready": False}, {"id": "late"}]
        yield loopback


def test_the_list_is_the_services(web: Loopback) -> None:
    assert web.client.get("/v1/models").json() == web.service.model_list()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("sorter", 0),
        ("org%2FSorter-1", 0),
        ("org/Sorter-1", 0),
        ("a%2Fb%20c", 1),
        ("a/b%20c", 1),
        ("late", 2),
    ],
)
def test_a_card_by_its_id_or_else_its_repository(web: Loopback, path: str, found: int) -> None:
    response = web.client.get(f"/v1/models/{path}")
    assert response.json() == web.service.cards[found]


@pytest.mark.parametrize("path", ["missing", "Sorter", "org%2Fsorter-1", "%FF", "sorter%00", "sorter%2F"])
def test_an_unknown_model_is_not_found_by_name(web: Loopback, path: str) -> None:
    response = web.client.get(f"/v1/models/{path}")
    assert response.status_code == 404
    error = response.json()["error"]
    assert error["code"] == "model_not_found"
    assert "['a/b c', 'late', 'sorter']" in error["message"]
