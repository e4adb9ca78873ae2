"""The System One client of the standard's authors: questions, images, compression, errors."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import date
from typing import Any

import httpx
import pytest
import zstandard

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.server import Running
from tests.serving.test_decisions import png

pytestmark = pytest.mark.client
sdk = client_package("typesafe_sdk", "clients")

NOUL = {"type": "noul", "instructions": "Does the customer want money back?"}


@pytest.fixture
def client(decider: Running) -> Iterator[Any]:
    with sdk.TypeSafeClient(api_key=KEY, base_url=decider.url, model="decider") as client:
        yield client


@pytest.fixture
def wire(decider: Running) -> Iterator[httpx.Client]:
    """A client of no package, to compare with."""
    with httpx.Client(base_url=decider.url, timeout=60) as client:
        yield client


def questions() -> dict[str, Any]:
    levels = ["calm", {"tone": "annoyed"}, ["furious"]]
    return {
        "refund": sdk.Noul(instructions="Does the customer want money back?"),
        "topic": sdk.Choice(
            instructions={"ask": "What is it about?"}, criteria={"z": None, "a": "delivery", "m": {"x": 1}}
        ),
        "anger": sdk.Score(instructions="How angry?", criteria=levels),
        "said": sdk.Noul(criteria={"true": "The parcel is late"}),
        "plain": sdk.Choice(criteria={"b": "billing", "a": "anything else"}),
    }


def test_models(client: Any) -> None:
    (listed,) = client.models.list().models
    assert listed.name == "decider"
    assert listed.description
    date.fromisoformat(listed.release_date)


@pytest.mark.parametrize("state", ["My parcel is late.", {"mail": "late", "n": [1, None]}, ["late", {"a": 1}]])
def test_answers(client: Any, state: Any) -> None:
    response = client.system_one(state, questions())
    assert response.model == "decider"
    assert list(response.answers) == list(questions())
    topic, anger = response.answers["topic"], response.answers["anger"]
    assert list(topic.probabilities) == ["z", "a", "m"]
    assert math.isclose(sum(topic.probabilities.values()), 1, abs_tol=1e-6)
    assert list(anger.legend) == [0, 1, 2]
    assert anger.legend[1] == '{"tone":"annoyed"}'
    assert 0 <= response.answers["refund"].noul <= 1
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens == 0


def test_large_bodies_are_compressed_and_answer_alike(client: Any, decider: Running) -> None:
    client_package("backports.zstd", "clients")
    state = {"mail": "My parcel is late. " * 100}
    with sdk.TypeSafeClient(api_key=KEY, base_url=decider.url, model="decider", compression=False) as plain:
        assert client.system_one(state, questions()).answers == plain.system_one(state, questions()).answers


def test_request_ids_are_fresh_also_on_errors(client: Any) -> None:
    seen = {client.system_one("x", {"q": NOUL}).request_id for _ in range(5)}
    for _ in range(2):
        with pytest.raises(sdk.TypeSafeBadRequestError) as refused:
            client.system_one("x", {"q": NOUL}, extra_body={"colour": 1})
        seen.add(refused.value.request_id)
    assert len(seen) == 7
    assert None not in seen


@pytest.mark.parametrize("where", ["whole", "inside", "alias", "state"])
def test_images_are_refused_by_a_model_of_texts(client: Any, where: str) -> None:
    image = sdk.Image(png())
    states = {"whole": ["look", image], "inside": f"look at {image}", "alias": "look at <cat>", "state": image}
    assets = {"<cat>": sdk.Image(b"RIFF????WEBP")} if where == "alias" else None
    attached = client.attach_assets(image) if where == "inside" else nullcontext()
    with attached, pytest.raises(sdk.TypeSafeBadRequestError, match="images are not supported"):
        client.system_one(states[where], {"q": NOUL}, assets=assets)


def test_an_alias_that_nothing_uses_is_refused(client: Any) -> None:
    with pytest.raises(sdk.TypeSafeBadRequestError, match="every asset must be used"):
        client.system_one("x" * 2000, {"q": NOUL}, assets={"<cat>": sdk.Image(png())})


def test_an_unknown_model_is_named_with_those_served(client: Any) -> None:
    with pytest.raises(sdk.TypeSafeNotFoundError, match="decider"):
        client.system_one("x", {"q": NOUL}, model="jev-latest")


def test_one_bad_question_fails_the_call_and_is_named(client: Any) -> None:
    asked = {"good": NOUL, "bad one": sdk.Choice(instructions="x", criteria={"only": "one"})}
    with pytest.raises(sdk.TypeSafeUnprocessableEntityError, match=r"questions\.bad one: criteria must name 2"):
        client.system_one("x", asked)


@pytest.mark.parametrize(
    ("state", "asked", "error", "says"),
    [
        (3, {"q": NOUL}, "TypeSafeBadRequestError", "state"),
        ("", {"q": NOUL}, "TypeSafeBadRequestError", "state"),
        ({}, {"q": NOUL}, "TypeSafeBadRequestError", "state"),
        ("x", {" ": NOUL}, "TypeSafeBadRequestError", "blank"),
        ("x", {"q": {"type": "noul", "instructions": "x", "colour": 1}}, "TypeSafeUnprocessableEntityError", "colour"),
        ("x", {"q": {"type": "rank"}}, "TypeSafeUnprocessableEntityError", "type must be"),
        ("x", {"q": {"type": "score", "criteria": ["one"]}}, "TypeSafeUnprocessableEntityError", "2"),
    ],
)
def test_refusals_are_not_tried_again(client: Any, state: Any, asked: Any, error: str, says: str) -> None:
    with pytest.raises(getattr(sdk, error), match=says):
        client.system_one(state, asked)


def test_a_passed_deadline_is_tried_again(decider: Running) -> None:
    retry = sdk.RetryPolicy(max_retries=1, backoff_initial=0.01, backoff_max=0.02)
    with sdk.TypeSafeClient(api_key=KEY, base_url=decider.url, model="decider", retry=retry) as client:
        with pytest.raises(sdk.TypeSafeInternalServerError) as late:
            client.system_one("late", {"q": NOUL}, extra_body={"options": {"deadline_ms": 0.0001}})
        assert late.value.status == 504


def test_twenty_calls_with_errors_between(client: Any) -> None:
    for index in range(20):
        if index % 5 == 4:
            with pytest.raises(sdk.TypeSafeNotFoundError):
                client.system_one("x", {"q": NOUL}, model="nobody")
        else:
            assert list(client.system_one(f"text {index}", {"q": NOUL}).answers) == ["q"]


def test_parallel_calls_are_not_mixed(client: Any) -> None:
    def ask(index: int) -> tuple[list[str], float]:
        answers = client.system_one(f"text {index}", {f"q{index}": NOUL}).answers
        return list(answers), answers[f"q{index}"].noul

    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask, range(24)))
    assert [names for names, _ in found] == [[f"q{index}"] for index in range(24)]
    assert [noul for _, noul in found] == [ask(index)[1] for index in range(24)]


def test_the_same_request_by_hand(client: Any, wire: httpx.Client) -> None:
    """Gzip, zstd and plain bodies, one connection a call: the same answer."""
    body = json.dumps({"state": "My parcel is late.", "questions": {"q": NOUL}}).encode()
    expected = wire.post("/v1/systemone", content=body, headers={"connection": "close"}).json()
    for coding, sent in (("gzip", gzip.compress(body)), ("zstd", zstandard.compress(body))):
        assert wire.post("/v1/systemone", content=sent, headers={"content-encoding": coding}).json() == expected
    assert client.system_one("My parcel is late.", {"q": NOUL}).answers["q"].noul == expected["answers"]["q"]["noul"]
    assert wire.post("/v1/systemone", content=body, headers={"content-encoding": "br"}).status_code == 415
    assert wire.post("/v1/systemone", content=body, headers={"content-encoding": "gzip"}).status_code == 400
    asset = {"type": "image", "format": "png", "data_base64": base64.b64encode(png()).decode()}
    sent_image = {"state": "<i>", "questions": {"q": NOUL}, "assets": {"<i>": asset}}
    assert wire.post("/v1/systemone", json=sent_image).status_code == 400
