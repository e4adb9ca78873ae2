"""Render and derender over HTTP: answers, refusals in their form, bounds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import serving.routes.texts as texts
from serving.errors import ErrorCode, RequestFailed
from serving.text_endpoints import TextEndpoint
from serving.text_side import TextSide
from tests.generation.packages import ids_of, parsed_profile, plain_profile
from tests.serving.http.loopback import Loopback, serving
from tests.serving.routes.test_operations import check

HELLO = {"model": "parsed", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def shared() -> Iterator[Loopback]:
    with serving(limit=1 << 16) as loopback:
        yield loopback


@pytest.fixture
def web(shared: Loopback) -> Loopback:
    shared.reset()
    shared.service.texts = {
        "parsed": TextSide.of(parsed_profile(), "parsed"),
        "plain": TextSide.of(plain_profile(), "plain"),
    }
    return shared


def post(web: Loopback, path: str, body: Any, content_type: str = "application/json") -> Any:
    encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
    return web.post(encoded, path, content_type=content_type)


def refusal(web: Loopback, path: str, body: Any, status: int, content_type: str = "application/json") -> Any:
    response = post(web, path, body, content_type)
    assert response.headers["content-type"] == "application/json"
    assert response.status_code == status
    error = response.json()["error"]
    assert sorted(error) == ["code", "message", "param", "type"]
    assert error["code"] == status
    assert (path, status) in web.metrics.calls
    return error


def test_from_a_conversation_to_its_answer(web: Loopback) -> None:
    rendered = post(web, TextEndpoint.RENDER_CHAT, HELLO)
    check(rendered, TextEndpoint.RENDER_CHAT)
    prompt = rendered.json()["token_ids"]
    answer = ids_of(parsed_profile(), "<think>R</think>漢🚀")
    response = {"request_id": "generate-tokens-1", "choices": [{"index": 0, "token_ids": answer}]}
    derender = {"model": "parsed", "generate_response": response, "chat_request": HELLO, "prompt_token_ids": prompt}
    derendered = post(web, TextEndpoint.DERENDER_CHAT, derender)
    check(derendered, TextEndpoint.DERENDER_CHAT)
    message = derendered.json()["choices"][0]["message"]
    assert (message["reasoning"], message["content"]) == ("R", "漢🚀")
    assert web.metrics.calls == [(TextEndpoint.RENDER_CHAT, 200), (TextEndpoint.DERENDER_CHAT, 200)]


def test_from_prompts_to_completions(web: Loopback) -> None:
    rendered = post(web, TextEndpoint.RENDER_COMPLETION, {"model": "plain", "prompt": ["one", "two"]})
    check(rendered, TextEndpoint.RENDER_COMPLETION)
    responses = [
        {"request_id": f"r{index}", "choices": [{"index": 0, "token_ids": each["token_ids"]}]}
        for index, each in enumerate(rendered.json())
    ]
    derendered = post(web, TextEndpoint.DERENDER_COMPLETION, {"model": "plain", "generate_responses": responses})
    check(derendered, TextEndpoint.DERENDER_COMPLETION)
    assert [choice["text"] for choice in derendered.json()["choices"]] == ["one", "two"]


@pytest.mark.parametrize("path", [TextEndpoint.DERENDER_CHAT, TextEndpoint.DERENDER_COMPLETION])
def test_a_chunk_and_its_state(web: Loopback, path: str) -> None:
    chunk = {"request_id": "r", "choices": [{"index": 0, "token_ids": ids_of(plain_profile(), "one")}]}
    response = post(web, path, {"model": "plain", "stream": True, "generate_chunk": chunk})
    check(response, path)
    again = {"model": "plain", "stream": True, "generate_chunk": chunk, "stream_state": response.json()["stream_state"]}
    check(post(web, path, again), path)


def test_unknown_members_are_of_no_effect(web: Loopback) -> None:
    assert post(web, TextEndpoint.RENDER_CHAT, {**HELLO, "no_such": [1]}).status_code == 200


@pytest.mark.parametrize("path", list(TextEndpoint))
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ({}, "text/plain"),
        ({}, "multipart/form-data; boundary=x"),
        ({}, ""),
        (b"{", "application/json"),
        (b"", "application/json"),
        (b"\xff", "application/json"),
        ([1, 2, 3], "application/json"),
        ({}, "application/json"),
        ({"model": 3}, "application/json"),
        ({"model": "plain", "stream": "yes"}, "application/json"),
    ],
)
def test_bad_bodies(web: Loopback, path: str, body: Any, content_type: str) -> None:
    assert refusal(web, path, body, 400, content_type)["type"] == "Bad Request"


@pytest.mark.parametrize("content_type", ["Application/JSON", "application/json; charset=utf-8"])
def test_the_media_type_alone_counts(web: Loopback, content_type: str) -> None:
    assert post(web, TextEndpoint.RENDER_CHAT, HELLO, content_type).status_code == 200


def test_a_model_that_is_not_there(web: Loopback) -> None:
    error = refusal(web, TextEndpoint.RENDER_COMPLETION, {"model": "nobody", "prompt": "a"}, 404)
    assert (error["type"], error["param"]) == ("NotFoundError", "model")


def test_a_request_that_cannot_be_served(web: Loopback) -> None:
    error = refusal(web, TextEndpoint.RENDER_CHAT, {**HELLO, "max_tokens": 600}, 400)
    assert (error["type"], error["param"]) == ("BadRequestError", "max_tokens")


def test_a_body_that_is_too_large(web: Loopback) -> None:
    assert refusal(web, TextEndpoint.RENDER_CHAT, b" " * (1 << 17), 413)["type"] == "Bad Request"


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (ErrorCode.UNSUPPORTED_SURFACE, 501, "NotImplementedError"),
        (ErrorCode.NOT_READY, 503, "ServiceUnavailableError"),
        (ErrorCode.INVALID_REQUEST, 400, "Bad Request"),
        (None, 500, "InternalServerError"),
    ],
)
def test_what_the_process_refuses(
    web: Loopback, monkeypatch: pytest.MonkeyPatch, code: ErrorCode | None, status: int, kind: str
) -> None:
    def refuse(name: str | None) -> TextSide:
        raise RequestFailed(code, "no") if code else ZeroDivisionError(name)

    monkeypatch.setattr(web.service, "text_side", refuse, raising=False)
    error = refusal(web, TextEndpoint.RENDER_CHAT, HELLO, status)
    assert (error["type"], error["param"]) == (kind, None)
    assert error["message"] == ("no" if code else "Internal server error")


def test_no_more_wait_than_there_is_room_for(web: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_WAITING", 1)
    entered, go_on = threading.Event(), threading.Event()

    def wait(name: str | None) -> TextSide:
        entered.set()
        assert go_on.wait(10)
        return web.service.texts[str(name)]

    monkeypatch.setattr(web.service, "text_side", wait, raising=False)
    first: Future[Any] = Future()
    thread = threading.Thread(target=lambda: first.set_result(post(web, TextEndpoint.RENDER_CHAT, HELLO)))
    thread.start()
    assert entered.wait(10)
    assert refusal(web, TextEndpoint.RENDER_CHAT, HELLO, 429)["type"] == "TooManyRequestsError"
    go_on.set()
    thread.join(10)
    assert first.result(10).status_code == 200
