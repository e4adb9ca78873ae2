from __future__ import annotations

import pytest
from blacksheep import Request, Response

from serving.routes.router import ExactRouter


async def answer(request: Request) -> Response:
    return Response(200 if request else 500)


@pytest.fixture
def router() -> ExactRouter:
    made = ExactRouter()
    made.add_read("/v1/models", answer)
    made.add_read("/v1/models/{path:id}", answer)
    made.add_read("/openapi.yaml", answer)
    made.add_post("/v1/classify", answer)
    made.apply_routes()
    made.sort_routes()  # type: ignore[no-untyped-call]
    return made


def request(method: str, path: str) -> Request:
    return Request.incoming(method, path.encode(), b"", [])


@pytest.mark.parametrize(
    ("method", "path", "values"),
    [
        ("GET", "/v1/models", {}),
        ("HEAD", "/v1/models", {}),
        ("POST", "/v1/classify", {}),
        ("GET", "/openapi.yaml", {}),
        ("GET", "/v1/models/sorter", {"id": "sorter"}),
        ("GET", "/v1/models/org%2FSorter-1", {"id": "org/Sorter-1"}),
        ("GET", "/v1/models/org/Sorter-1", {"id": "org/Sorter-1"}),
        ("GET", "/v1/models/%C3%A9%20%3F", {"id": "é ?"}),
    ],
)
def test_exact_paths_meet(router: ExactRouter, method: str, path: str, values: dict[str, str]) -> None:
    match = router.get_match(request(method, path))
    assert match is not None
    assert match.handler is answer
    assert (match.values or {}) == values


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/Models"),
        ("GET", "/v1/models/"),
        ("GET", "/v1/models/sorter/"),
        ("GET", "/v1/models//"),
        ("GET", "/openapixyaml"),
        ("POST", "/v1/classify/"),
        ("POST", "/v1/CLASSIFY"),
        ("POST", "/v1/classify%2F"),
        ("POST", "/v1/models"),
        ("GET", "/v1/classify"),
        ("GET", "/"),
        ("BREW", "/v1/classify"),
    ],
)
def test_anything_else_is_left_to_the_fallback(router: ExactRouter, method: str, path: str) -> None:
    match = router.get_match(request(method, path))
    assert match is not None
    assert match.handler is not answer


def test_unknown_methods_and_paths_leave_nothing_behind(router: ExactRouter) -> None:
    before = len(router.routes)
    for index in range(10):
        router.get_match(request(f"M{index}", f"/{index}"))
    assert len(router.routes) == before
