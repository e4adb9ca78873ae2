from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import httpx
import jsonschema
import pytest
import yaml
from openapi_spec_validator import validate

from serving.errors import STATUS, ErrorCode, RequestFailed
from serving.received import Endpoint
from serving.text_endpoints import GENERATE, TextEndpoint
from serving.version import API_VERSION
from tests.serving.http.loopback import CARD, Loopback, serving

TEXT = files("serving").joinpath("openapi.yaml").read_bytes()
DOCUMENT: dict[str, Any] = yaml.safe_load(TEXT)
USAGE = {"input_tokens": 12, "output_tokens": 0}
INPUT = {"tokens": 12, "processed_tokens": 12, "truncated": False}
META = {
    "model_id": "org/Sorter-1", "revision": None, "model_sha256": "0" * 64, "dtype": "fp32", "numerics": "exact",
    "profile": "exact", "engine": "jax", "accelerator": "cpu", "device": "cpu", "queue_ms": 0.1, "compute_ms": 2.0,
}  # fmt: skip
FAILED = {"index": 1, "error": "max_length_exceeded"}
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "/v1/classify": [
        {
            "model": "sorter", "head": "default", "kind": "sequence", "labels": ["a", "b"], "usage": USAGE,
            "meta": META,
            "results": [{"index": 0, "label": "a", "probabilities": [0.75, 0.25], "input": INPUT}, FAILED],
        },
        {
            "model": "sorter", "head": "pii", "kind": "token", "labels": ["NAME"], "usage": USAGE,
            "results": [
                {
                    "index": 0, "input": {**INPUT, "windows": 2, "tokens_lower_bound": True},
                    "spans": [{"label": "NAME", "start": 0, "end": 4, "text": "Anna", "probability": 0.5}],
                    "tokens": [{"start": 0, "end": 4, "probabilities": [1.0]}],
                },
            ],
        },
        {
            "model": "sorter", "head": "hazard", "kind": "scores", "labels": ["x"], "usage": USAGE,
            "results": [
                {
                    "index": 0, "scores": [0.5], "selected": [], "input": INPUT,
                    "windows": [{"start": 0, "end": 9, "scores": [0.5]}],
                },
            ],
        },
    ],
    "/v1/embeddings": [
        {
            "object": "list", "model": "m", "usage": {"prompt_tokens": 3, "total_tokens": 3}, "meta": META,
            "data": [
                {"object": "embedding", "index": 0, "embedding": [0.5, -1], "input": INPUT},
                {"object": "embedding", "index": 1, "embedding": "AAAAPw==", "input": INPUT},
                {"object": "embedding", "index": 2, "error": "invalid_input"},
            ],
        },
    ],
    "/v1/rerank": [
        {
            "model": "m", "usage": USAGE,
            "results": [{"index": 0, "relevance_score": 0.5, "logit": 0.0, "input": INPUT, "document": "x"}, FAILED],
        },
    ],
    "/v1/decisions": [
        {
            "model": "m", "usage": USAGE, "meta": META,
            "answers": {
                "q": {"type": "choice", "choice": "a", "probabilities": {"a": 1.0, "b": 0.0}, "confidence": 1.0},
                "n": {"type": "noul", "noul": 0.25},
                "x": {"type": None, "error": "invalid_question", "message": "no type"},
                "s": {
                    "type": "score", "score": 0.5, "confidence": 0.0, "legend": {"0": "a", "1": "b"},
                    "probabilities": {"0": 0.5, "1": 0.5},
                },
            },
            "spans": {"n": [{"label": "NAME", "start": 0, "end": 4, "text": "Anna", "probability": 0.5}]},
            "sets": {"z": {"selected": ["a"], "probabilities": {"a": 0.5}}}, "thresholds": {"z": 0.5},
        },
        {"model": "m", "usage": USAGE, "states": {"a": {"model": "m", "answers": {}, "usage": USAGE}}},
    ],
    "/v1/systemone/batch": [
        {
            "responses": {
                "a": {"model": "m", "answers": {"n": {"type": "noul", "noul": 0.25}}, "usage": USAGE},
                "b": {"detail": "no", "code": "invalid_request", "status": 400},
            },
        },
    ],
    "/v1/bundle": [
        {
            "results": [
                {"id": "a", "status": 200, "decisions": {"model": "m", "answers": {}, "usage": USAGE}},
                {"id": "b", "status": 404, "error": {"code": "model_not_found", "message": "no"}},
            ],
        },
    ],
}  # fmt: skip
REQUESTS: dict[str, tuple[list[Any], list[Any]]] = {
    "/v1/classify": (
        [{"input": "x"}, {"input": ["x", {"text": "a", "text_pair": "b"}, {"answer": "a"}], "options": None}],
        [{}, {"input": []}, {"input": "x", "inputs": 1}, {"input": "x", "options": {"top": 1}}, {"input": 3}],
    ),
    "/v1/embeddings": (
        [{"input": ["x", {"type": "text", "text": "y"}], "dimensions": None, "user": 3, "encoding_format": "base64"}],
        [{"input": [3]}, {"input": "x", "dimensions": True}, {"input": "x", "encoding_format": None}],
    ),
    "/v1/rerank": (
        [{"query": "x", "documents": [""], "top_n": None, "options": {"overflow": "reject", "max_tokens": None}}],
        [{"query": " ", "documents": ["x"]}, {"query": "x", "documents": []}, {"query": "x", "documents": [{}]}],
    ),
    "/v1/decisions": (
        [
            {
                "state": {"a": 1},
                "questions": {
                    "q": {"type": "choice", "instructions": "{label}", "criteria": {"a": None, "b": "x"}},
                    "n": {"type": "noul", "instructions": "x", "criteria": {"true": "y"}},
                },
            },
        ],
        [{"state": 3, "questions": {}}, {"state": "x", "questions": {}}, {"state": "x", "questions": {}, "facts": 1}],
    ),
    "/v1/systemone": (
        [
            {
                "state": ["<i>", "x"],
                "questions": {"n": {"type": "noul", "criteria": {"true": "y"}}},
                "roles": None,
                "assets": {"<i>": {"type": "image", "part": "asset-0", "format": "png"}},
            },
            {"states": {"a": {"state": "x", "questions": {"n": {"type": "noul", "instructions": "y"}}}}, "model": "m"},
        ],
        [{"states": {}}, {"state": "x", "states": {}}, {"state": "x", "questions": {"n": {"type": "noul", "at": "x"}}}],
    ),
    "/v1/systemone/batch": ([{"requests": {"a": {}}}], [{}, {"requests": {}}, {"requests": [], "model": "m"}]),
    "/v1/bundle": (
        [{"tasks": [{"id": "a", "decisions": {}}], "options": {"deadline_ms": 5}}],
        [{"tasks": []}, {"tasks": [{"id": "a"}]}, {"tasks": [{"id": "a", "classify": {}, "rerank": {}}]}],
    ),
}


def schema(path: str, method: str, status: int) -> dict[str, Any]:
    """Schema of a JSON response, with its references resolvable."""
    response = DOCUMENT["paths"][path][method]["responses"][str(status)]
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    return {**response["content"]["application/json"]["schema"], "components": DOCUMENT["components"]}


def check(response: httpx.Response, path: str, status: int = 200) -> None:
    """Hold a real response against the document: body and headers."""
    assert response.status_code == status
    method = response.request.method.lower()
    jsonschema.validate(response.json(), schema(path, method, status), jsonschema.Draft202012Validator)
    stated = DOCUMENT["paths"][path][method]["responses"][str(status)]
    if "$ref" in stated:
        stated = DOCUMENT["components"]["responses"][stated["$ref"].rsplit("/", 1)[1]]
    for name, header in stated["headers"].items():
        rule = DOCUMENT["components"]["headers"][header["$ref"].rsplit("/", 1)[1]]["schema"]
        jsonschema.validate(response.headers[name], rule)


@pytest.fixture(scope="module")
def shared() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


@pytest.fixture
def web(shared: Loopback) -> Loopback:
    shared.reset()
    return shared


def test_the_document_is_valid_and_its_own() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")
    assert DOCUMENT["info"]["title"] == "vLLM Semantic Router Model Runtime"
    assert DOCUMENT["info"]["version"] == API_VERSION
    assert len(TEXT) <= 128 * 1024


def test_the_document_is_given_byte_for_byte(web: Loopback) -> None:
    response = web.client.get("/openapi.yaml")
    assert (response.headers["content-type"], response.content) == ("application/yaml", TEXT)


def test_every_endpoint_is_described(web: Loopback) -> None:
    for path, methods in DOCUMENT["paths"].items():
        for method in methods:
            assert web.client.request(method, path.format(id="sorter")).status_code not in (404, 405)
    posts = {path for path, methods in DOCUMENT["paths"].items() if "post" in methods}
    assert posts == {route.path for route in Endpoint} | set(TextEndpoint) | {GENERATE}


def test_every_refusal_of_a_text_endpoint_is_described() -> None:
    for route in (*TextEndpoint, GENERATE):
        statuses = {"200", "400", "404", "413", "429", "500", "501", "503"}
        assert set(DOCUMENT["paths"][route]["post"]["responses"]) == statuses


def test_every_refusal_of_a_surface_is_described() -> None:
    for route in Endpoint:
        statuses = {"200", "415", *(str(status) for status in STATUS.values())}
        statuses |= {"504", "529"} if route.is_systemone else set()
        statuses -= {"404", "422", "429", "503"} if route is Endpoint.BUNDLE else set()
        assert set(DOCUMENT["paths"][route.path]["post"]["responses"]) == statuses
    assert set(DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]) == set(ErrorCode)


@pytest.mark.parametrize("path", REQUESTS)
def test_request_schemas_are_closed(path: str) -> None:
    content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    rule = {**content, "components": DOCUMENT["components"]}
    good, bad = REQUESTS[path]
    for body in good:
        jsonschema.validate(body, rule, jsonschema.Draft202012Validator)
    for body in bad:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(body, rule, jsonschema.Draft202012Validator)


def objects(node: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of an object with members, and where it stands."""
    if isinstance(node, dict):
        if "properties" in node and "object" in node.get("type", "object"):
            yield place, node
        for name, child in node.items():
            yield from objects(child, f"{place}/{name}")
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from objects(child, f"{place}/{index}")


def test_requests_are_closed_and_responses_open() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    asked = ("Request", "Question", "ClassifyItem", "TextPart", "Options", "Entry")
    for name, rule in schemas.items():
        closed = name.endswith(asked)
        for place, node in objects(rule, name):
            assert ("additionalProperties" in node) == closed, place


@pytest.mark.parametrize(("path", "answer"), [(path, answer) for path, many in ANSWERS.items() for answer in many])
def test_answers_are_as_described(web: Loopback, path: str, answer: dict[str, Any]) -> None:
    web.service.reply = lambda *_: answer
    check(web.post(path=path), path)


@pytest.mark.parametrize("path", ANSWERS)
def test_answers_that_lack_a_member_are_not(path: str) -> None:
    for missing in ANSWERS[path][0]:
        if missing not in ("meta", "spans", "sets", "thresholds"):
            short = {name: value for name, value in ANSWERS[path][0].items() if name != missing}
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(short, schema(path, "post", 200), jsonschema.Draft202012Validator)


@pytest.mark.parametrize("code", ErrorCode)
def test_refusals_are_as_described(web: Loopback, code: ErrorCode) -> None:
    def refuse(*_: Any) -> Any:
        raise RequestFailed(code, "no")

    web.service.reply = refuse
    for endpoint in Endpoint:
        status = 529 if endpoint.is_systemone and code is ErrorCode.OVERLOADED else STATUS[code]
        if str(status) in DOCUMENT["paths"][endpoint.path]["post"]["responses"]:
            check(web.post(path=endpoint.path), endpoint.path, status)
    check(web.post(path="/v1/rerank", content_encoding="br"), "/v1/rerank", 415)


def test_reads_are_as_described(web: Loopback) -> None:
    for path in ("/v1/models", "/health", "/health/live"):
        check(web.client.get(path), path)
    check(web.client.get("/v1/models/sorter"), "/v1/models/{id}")
    check(web.client.get("/v1/models/other"), "/v1/models/{id}", 404)
    web.service.readiness = RequestFailed(ErrorCode.NOT_READY, "loading")
    check(web.client.get("/health"), "/health", 503)
    assert web.client.get("/v1/models/sorter").json() == CARD


def test_metrics_are_given_as_they_are(web: Loopback) -> None:
    response = web.client.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.content == web.metrics.render()
