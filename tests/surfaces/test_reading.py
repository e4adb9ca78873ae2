"""From JSON bodies to typed requests."""

from typing import Any

import pytest

from vela_jax.contract import InvalidRequest, Surface
from vela_jax.surfaces.reading import check_members, read_request
from vela_jax.surfaces.requests import ClassifyRequest, Window

CLASSIFY: dict[str, Any] = {"input": ["text"]}
EMBED: dict[str, Any] = {"input": ["text"]}
RERANK: dict[str, Any] = {"query": "q", "documents": ["d"]}
BODIES: dict[Surface, dict[str, Any]] = {Surface.CLASSIFY: CLASSIFY, Surface.EMBEDDINGS: EMBED, Surface.RERANK: RERANK}


@pytest.mark.parametrize(
    ("body", "kind"), [([], "an array"), ("x", "a string"), (None, "null"), (3, "a number"), (True, "a boolean")]
)
def test_a_body_must_be_an_object(body: Any, kind: str) -> None:
    with pytest.raises(InvalidRequest, match=f"must be a JSON object, got {kind}"):
        check_members(Surface.CLASSIFY, body)


def test_unknown_members_are_listed_sorted() -> None:
    with pytest.raises(InvalidRequest, match=r"unknown members \['alpha', 'zeta'\]; classify takes \['head', 'input'"):
        check_members(Surface.CLASSIFY, {"zeta": 1, "input": "x", "alpha": 2})


@pytest.mark.parametrize("empty", [None, {}, [], "", 0, False])
def test_any_empty_options_mean_none(empty: Any) -> None:
    request: ClassifyRequest = read_request(Surface.CLASSIFY, {**CLASSIFY, "options": empty})
    assert request.options == ClassifyRequest(input="x").options


@pytest.mark.parametrize("options", [[1], "x", 7, True])
def test_options_must_be_an_object(options: Any) -> None:
    with pytest.raises(InvalidRequest, match="options must be an object"):
        read_request(Surface.CLASSIFY, {**CLASSIFY, "options": options})


@pytest.mark.parametrize("surface", list(BODIES))
def test_unknown_options_list_the_allowed_ones(surface: Surface) -> None:
    with pytest.raises(InvalidRequest, match=r"unknown options \['speed'\]; allowed are \['deadline_ms', 'max_tokens'"):
        read_request(surface, {**BODIES[surface], "options": {"speed": 1}})


@pytest.mark.parametrize("surface", list(BODIES))
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"deadline_ms": 0}, "deadline_ms must be a finite number above 0, got 0"),
        ({"deadline_ms": -1}, "deadline_ms"),
        ({"deadline_ms": None}, "options.deadline_ms: expected `float`, got `null`"),
        ({"deadline_ms": True}, "options.deadline_ms"),
        ({"deadline_ms": "5"}, "options.deadline_ms"),
        ({"return_meta": "yes"}, "options.return_meta: expected `bool`, got `str`"),
        ({"return_meta": 1}, "options.return_meta"),
        ({"profile": "max_speed"}, "options.profile must be 'exact', got 'max_speed'"),
        ({"max_tokens": 1.0}, "options.max_tokens"),
        ({"max_tokens": True}, "options.max_tokens"),
    ],
)
def test_bad_options_are_named(surface: Surface, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        read_request(surface, {**BODIES[surface], "options": options})


@pytest.mark.parametrize(
    ("surface", "member", "value"),
    [
        (Surface.EMBEDDINGS, "encoding_format", None),
        (Surface.EMBEDDINGS, "dimensions", True),
        (Surface.EMBEDDINGS, "dimensions", 8.0),
        (Surface.EMBEDDINGS, "layer", "3"),
        (Surface.EMBEDDINGS, "input_type", 3),
        (Surface.RERANK, "query", None),
        (Surface.RERANK, "documents", "d"),
        (Surface.RERANK, "documents", ["d", 3]),
        (Surface.RERANK, "documents", [{"text": "d"}]),
        (Surface.RERANK, "top_n", True),
        (Surface.RERANK, "return_documents", None),
        (Surface.RERANK, "return_documents", 1),
        (Surface.CLASSIFY, "head", 1),
    ],
)
def test_a_member_of_a_wrong_type_is_named(surface: Surface, member: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=f"^{member}"):
        read_request(surface, {**BODIES[surface], member: value})


@pytest.mark.parametrize(
    ("surface", "body", "member"),
    [
        (Surface.CLASSIFY, {}, "input"),
        (Surface.EMBEDDINGS, {}, "input"),
        (Surface.RERANK, {"documents": ["d"]}, "query"),
        (Surface.RERANK, {"query": "q"}, "documents"),
    ],
)
def test_a_missing_member_is_named(surface: Surface, body: dict[str, Any], member: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{member} is required"):
        read_request(surface, body)


@pytest.mark.parametrize(
    "window", [None, 32, {"tokens": 32.5}, {"overlap": 3}, {"tokens": 3, "step": 1}, {"tokens": True}]
)
def test_a_window_of_a_wrong_shape_is_refused(window: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"options\.window"):
        read_request(Surface.CLASSIFY, {**CLASSIFY, "options": {"window": window}})


def test_a_request_keeps_what_was_sent() -> None:
    options = {"window": {"tokens": 32}, "overflow": "window", "deadline_ms": 5, "return_meta": True}
    request: ClassifyRequest = read_request(Surface.CLASSIFY, {**CLASSIFY, "model": "m", "options": options})
    assert request.input == ["text"]
    assert request.options.window == Window(32, 0)
    assert request.options.deadline_ms == 5.0
    assert request.options.return_meta is True


def test_a_message_repeats_little_of_what_a_client_made_up() -> None:
    body = {"x" * 100_000 + str(number): 1 for number in range(100)}
    with pytest.raises(InvalidRequest, match="and 84 more") as refused:
        check_members(Surface.CLASSIFY, {"input": "a", **body})
    assert len(str(refused.value)) < 2000
