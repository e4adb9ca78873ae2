"""Bodies of the decisions endpoints, damaged at random: every answer is as the API document says, none is a fault."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.schema import Schema
from tests.serving.questions import Served, answering, describe
from tests.serving.test_decisions import asset, png, url

DOCUMENT: dict[str, Any] = yaml.safe_load(files("serving").joinpath("openapi.yaml").read_bytes())
SEEING = describe(modalities=["text", "image", "video"], image_placements=["state", "instructions"], presets=["p"])
QUESTIONS: list[dict[str, Any]] = [
    {"type": "noul", "instructions": "Is <i> there?", "criteria": {"false": None, "true": "yes"}},
    {"type": "noul", "criteria": {"true": {"a": ["<i>"]}}, "require_full_input": True},
    {"type": "choice", "instructions": ["x"], "choices": [{"key": "a"}, {"key": "b", "description": "<j>"}]},
    {"type": "choice", "instructions": None, "criteria": {"a": None, "b": "B"}, "preset": "p"},
    {"type": "score", "instructions": {"how": "much"}, "levels": ["lo", {"x": 1}]},
    {"type": "set", "instructions": "x", "labels": [{"key": "a"}], "threshold": 0.5},
    {"type": "box", "instructions": "x", "at": 1.5},
]
ENTRY: dict[str, Any] = {
    "state": {"request": "see <i>", "answer": ["<j>", 1, None, True]},
    "questions": {str(index): question for index, question in enumerate(QUESTIONS)},
    "images": [url(png())],
    "videos": [],
    "roles": {"request": "user"},
}
ASSETS = {"<i>": asset(), "<j>": asset(png(5, 5), format="png")}
OPTIONS = {"return_meta": True, "deadline_ms": 60_000, "long_context": False, "profile": "exact"}
STANDARD = {**ENTRY, "model": "asker", "assets": ASSETS, "options": OPTIONS}
STATES = {"model": "asker", "states": {"a": ENTRY, "b": {**ENTRY, "state": ["<i>", "x"]}}, "assets": ASSETS}
OPENAI = {
    "model": "asker",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_json", "data": {"a": 1}}]},
        {"type": "function_call", "name": "f", "call_id": "1", "arguments": "{}"},
    ],
    "questions": [
        {"type": "predicate", "instructions": "x", "name": "p"},
        {"type": "choice", "instructions": "x", "choices": [{"value": True}, {"value": "a", "description": "b"}]},
        {"type": "score", "instructions": "x", "levels": [{"label": "a"}, {"label": "b"}]},
    ],
}
BUNDLE = {
    "tasks": [
        {"id": "a", "decisions": STANDARD},
        {"id": "b", "decisions": STATES},
        {"id": "c", "rerank": {"model": "letters", "query": "x", "documents": ["y"]}},
    ],
    "options": {"deadline_ms": 60_000},
}
BODIES: dict[str, list[Any]] = {
    "/v1/decisions": [STANDARD, STATES, OPENAI],
    "/v1/systemone": [STANDARD, STATES, {**STANDARD, "state": ["<i>", "<j>", {"a": "x"}], "roles": None}],
    "/v1/systemone/batch": [{"requests": {"a": STANDARD, "b": STATES}}],
    "/v1/bundle": [BUNDLE],
}
NAMES = [
    "state", "states", "questions", "roles", "images", "assets", "options", "model", "type", "instructions", "criteria",
    "choices", "levels", "labels", "preset", "over", "key", "input", "tasks", "id", "requests", "<i>", " ", "é😀",
]  # fmt: skip
texts = st.one_of(st.sampled_from([*NAMES, "noul", "choice", "score", "image", ""]), st.text(max_size=12))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 300),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)


def damage(value: Any, draw: Any, hits: int) -> Any:
    """A copy of a JSON value with about `hits` changes: nodes replaced, members added, renamed or left out."""
    for _ in range(hits):
        path: list[Any] = []
        node = value
        while isinstance(node, dict | list) and node and (not path or draw(st.integers(0, 3))):
            places = list(node) if isinstance(node, dict) else range(len(node))
            path.append(draw(st.sampled_from(list(places))))
            node = node[path[-1]]
        value = _changed(value, path, draw)
    return value


def _changed(value: Any, path: list[Any], draw: Any) -> Any:
    if not path:
        return draw(values)
    first, *rest = path
    if isinstance(value, list):
        return [_changed(each, rest, draw) if index == first else each for index, each in enumerate(value)]
    if rest:
        return {name: _changed(each, rest, draw) if name == first else each for name, each in value.items()}
    kind = draw(st.sampled_from(["replace", "drop", "rename", "add"]))
    kept = {name: each for name, each in value.items() if name != first or kind == "add"}
    if kind == "replace":
        return {**value, first: draw(values)}
    if kind == "rename":
        return {**kept, draw(texts): value[first]}
    return {**kept, draw(texts): draw(values)} if kind == "add" else kept


@st.composite
def calls(draw: Any) -> tuple[str, Any]:
    """A path and a body that is close to a good one."""
    path = draw(st.sampled_from(sorted(BODIES)))
    body = draw(st.sampled_from(BODIES[path]))
    return path, damage(body, draw, draw(st.integers(0, 4)))


@pytest.fixture(scope="module")
def newer() -> Iterator[Served]:
    with answering(SEEING, names=("asker", "letters")) as served:
        yield served


@pytest.fixture(scope="module")
def older() -> Iterator[Served]:
    with answering(SEEING, Schema.V4, names=("asker", "letters")) as served:
        yield served


@cache
def rule(path: str, status: int) -> jsonschema.Draft202012Validator:
    """What the document says of a response."""
    response = DOCUMENT["paths"][path]["post"]["responses"][str(status)]
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    schema = response["content"]["application/json"]["schema"]
    return jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def hold(served: Served, path: str, body: Any) -> None:
    """Ask, and hold the answer against the document."""
    response = served.client.post(path, content=json.dumps(body).encode())
    assert response.status_code < 500 or response.status_code == 504, response.text
    fault = next(rule(path, response.status_code).iter_errors(response.json()), None)
    assert fault is None, f"{path} {response.status_code}: {fault.message[:500]}"
    assert response.headers["x-typesafe-request-id"]


class Quiet(logging.Handler):
    """Fails on a record of an error."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(record.getMessage())


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[None]:
    """No test here may log an error."""
    handler = Quiet(logging.ERROR)
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)


@settings(deadline=None, max_examples=400, suppress_health_check=list(HealthCheck))
@given(calls(), st.booleans())
def test_damaged_bodies(newer: Served, older: Served, call: tuple[str, Any], new: bool) -> None:
    hold(newer if new else older, *call)


@pytest.mark.slow
@settings(deadline=None, max_examples=20_000, suppress_health_check=list(HealthCheck))
@given(calls(), st.booleans())
def test_many_damaged_bodies(newer: Served, older: Served, call: tuple[str, Any], new: bool) -> None:
    hold(newer if new else older, *call)


@pytest.mark.parametrize("path", sorted(BODIES))
@pytest.mark.parametrize(
    "body",
    [
        b'{"state":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b',"questions":{"n":{"type":"noul","instructions":"x"}}}',
        b'{"state":"x","questions":{"n":{"type":"noul","instructions":' + b"[" * 240 + b"]" * 240 + b"}}}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"' + b"k" * 3_000_000 + b'":1}',
        b'{"state":"x","questions":{"' + b"q" * 1_000_000 + b'":{"type":"rank"}}}',
        b'{"states":{"' + b"s" * 1_000_000 + b'":{}}}',
        b'{"requests":{"a":{"' + b"k" * 1_000_000 + b'":1}}}',
        b'{"tasks":[{"id":"'
        + b"i" * 1_000_000
        + b'","classify":{}},{"id":"'
        + b"i" * 1_000_000
        + b'","classify":{}}]}',
        b'{"state":"x","questions":{"n":{"type":"noul","instructions":"x","' + b"k" * 1_000_000 + b'":1}}}',
        b'{"state":"x","questions":{"n":{"type":"' + b"t" * 1_000_000 + b'"}}}',
    ],
    ids=lambda body: f"{body[:24]!r}",
)
def test_deep_and_huge_bodies(newer: Served, path: str, body: bytes) -> None:
    response = newer.client.post(path, content=body)
    assert response.status_code < 500, response.text[:500]
    rule(path, response.status_code).validate(response.json())
    if response.status_code != 200:
        assert len(response.content) < 20_000
