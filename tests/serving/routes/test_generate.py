"""`/inference/v1/generate` over HTTP: bodies, events, refusals, clients that leave."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from serving.generation import EngineThread, Generator
from serving.text_endpoints import GENERATE
from tests.generation.networks import MAX_LENGTH, VOCABULARY, engine
from tests.generation.packages import parsed_profile
from tests.serving.http.loopback import PATIENCE, Loopback, request_bytes, serving
from vela_jax.contract import DeviceFault
from vela_jax.generation.plan import Planner
from vela_jax.generation.spec import EngineOptions

MODEL = "tiny"
PROMPT = list(range(30, 70))


@dataclass
class Times:
    """Remembers the times of tokens."""

    first: list[float] = field(default_factory=list)
    further: list[float] = field(default_factory=list)

    def first_token(self, seconds: float) -> None:
        self.first.append(seconds)

    def next_token(self, seconds: float) -> None:
        self.further.append(seconds)


@pytest.fixture(scope="module")
def generator() -> Iterator[Generator]:
    profile = replace(parsed_profile(), vocabulary_size=VOCABULARY, max_model_len=MAX_LENGTH, eos_ids=())
    options = EngineOptions(max_num_seqs=8)
    faults: list[DeviceFault] = []
    thread = EngineThread(engine(max_num_seqs=8), MODEL, faults.append)
    thread.start()
    with ThreadPoolExecutor(1) as pool:
        made = Generator(MODEL, Planner(profile, options), thread, pool, Times())
        yield made
        made.stop()
    assert not faults


@pytest.fixture(scope="module")
def shared() -> Iterator[Loopback]:
    with serving(limit=1 << 16) as loopback:
        yield loopback


@pytest.fixture
def web(shared: Loopback, generator: Generator) -> Loopback:
    shared.reset()
    shared.service.generators = {None: generator, MODEL: generator}
    return shared


def body(*, members: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    given = {"temperature": 0, "max_tokens": 5, **params}
    return {"token_ids": PROMPT, "sampling_params": given, **(members or {})}


def post(web: Loopback, asked: Any, **headers: str) -> httpx.Response:
    encoded = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    return web.post(encoded, GENERATE, **{"content_type": "application/json", **headers})


def events(response: httpx.Response) -> list[Any]:
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    frames = response.text.split("\n\n")
    assert frames.pop() == ""
    assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames)
    assert frames.pop() == "data: [DONE]"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


def test_a_stream_says_what_the_whole_answer_says(web: Loopback) -> None:
    whole = post(web, body(logprobs=2)).json()
    streamed = events(post(web, body(logprobs=2, members={"stream": True})))
    assert [token for event in streamed for token in event["choices"][0]["token_ids"]] == whole["choices"][0][
        "token_ids"
    ]
    entries = [entry for event in streamed for entry in event["choices"][0]["logprobs"]["content"]]
    assert entries == whole["choices"][0]["logprobs"]["content"]
    assert streamed[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"] == "length"
    web.metrics.wait_for((GENERATE, 200))


def test_usage_closes_a_stream(web: Loopback) -> None:
    options = {"include_usage": True}
    streamed = events(post(web, body(members={"stream": True, "stream_options": options})))
    assert streamed[-1]["choices"] == []
    assert streamed[-1]["usage"] == {"prompt_tokens": 40, "completion_tokens": 5, "total_tokens": 45}


def test_text_mode_gives_text_and_stops_at_a_string(web: Loopback) -> None:
    asked = body(members={"output_mode": "text"}, max_tokens=12)
    text = post(web, asked).json()["choices"][0]["text"]
    assert text
    stopped = post(web, body(members={"output_mode": "text"}, max_tokens=12, stop=[text[2]])).json()["choices"][0]
    assert stopped["finish_reason"] == "stop"
    assert stopped["text"] == text[: text.index(text[2])]


def test_several_sequences(web: Loopback) -> None:
    asked = body(temperature=1.0, n=3, seed=41)
    choices = post(web, asked).json()["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    second = post(web, body(temperature=1.0, seed=42)).json()["choices"][0]
    assert choices[1]["token_ids"] == second["token_ids"]
    streamed = events(post(web, {**asked, "stream": True}))
    joined: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for event in streamed:
        joined[event["choices"][0]["index"]] += event["choices"][0]["token_ids"]
    assert list(joined.values()) == [choice["token_ids"] for choice in choices]


def test_the_header_names_the_request(web: Loopback) -> None:
    asked = body(members={"request_id": "mine"})
    assert post(web, asked).json()["request_id"] == "generate-tokens-mine"
    assert post(web, asked, x_request_id="42").json()["request_id"] == "generate-tokens-42"


@pytest.mark.parametrize(
    ("asked", "status", "kind"),
    [
        (b"[1]", 400, "Bad Request"),
        (b"{", 400, "Bad Request"),
        (body(members={"token_ids": []}), 400, "Bad Request"),
        (body(members={"token_ids": [VOCABULARY]}), 400, "BadRequestError"),
        (body(members={"token_ids": [2**63]}), 400, "BadRequestError"),
        (body(members={"token_ids": [1] * MAX_LENGTH}), 400, "BadRequestError"),
        (body(temperature=1, n=9), 400, "BadRequestError"),
        (body(members={"model": "other"}), 404, "NotFoundError"),
        (body(members={"model": "other", "stream": True}), 404, "NotFoundError"),
    ],
)
def test_refusals(web: Loopback, asked: Any, status: int, kind: str) -> None:
    response = post(web, asked)
    error = response.json()["error"]
    assert (response.status_code, error["type"], error["code"]) == (status, kind, status)
    web.metrics.wait_for((GENERATE, status))


def test_only_json_is_read(web: Loopback) -> None:
    assert post(web, body(), content_type="text/plain").status_code == 400
    assert post(web, body(), content_type="Application/JSON; charset=utf-8").status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_its_seat(web: Loopback, generator: Generator, stream: bool) -> None:
    asked = json.dumps(body(members={"stream": stream}, max_tokens=200)).encode()
    engine_of = generator.thread.engine
    with web.connection() as connection:
        connection.send(request_bytes(asked, GENERATE, content_type="application/json"))
        until = time.monotonic() + PATIENCE
        while not engine_of.load.running:
            assert time.monotonic() < until
            time.sleep(0.001)
    while engine_of.load.running or engine_of.load.pages_used:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_company_changes_no_digit(web: Loopback) -> None:
    asked = [body(members={"token_ids": PROMPT[: 3 + n]}, logprobs=3, max_tokens=20) for n in range(12)]
    alone = [post(web, each).json()["choices"] for each in asked]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda each: post(web, each).json()["choices"], asked * 2))
    assert together == alone * 2
