"""`/v1/bundle` over HTTP: tasks on several models, statuses, deadlines, one submission a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from serving.config import Bounds
from tests.serving.questions import Served, answering
from tests.serving.test_decisions import png

PATH = "/v1/bundle"
DECISIONS: dict[str, Any] = {
    "model": "asker",
    "state": "a cat",
    "questions": {"n": {"type": "noul", "instructions": "x"}},
}
CLASSIFY = {"model": "letters", "input": ["ab", "c"]}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with answering(names=("asker", "letters")) as served:
        yield served


def bundle(*tasks: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"tasks": [{"id": str(index), **task} for index, task in enumerate(tasks)]} | members


def test_each_task_is_answered_as_it_would_be_alone(served: Served) -> None:
    bad = {**DECISIONS, "questions": {"x": {"type": "rank"}}}
    tasks: list[dict[str, Any]] = [
        {"decisions": DECISIONS},
        {"classify": CLASSIFY},
        {"decisions": {**DECISIONS, "questions": {**DECISIONS["questions"], **bad["questions"]}}},
        {"decisions": bad},
        {"decisions": {"model": "asker", "states": {"a": {"state": "x", "questions": DECISIONS["questions"]}}}},
        {"classify": {**CLASSIFY, "model": "nobody"}},
        {"rerank": {"model": "letters", "query": "x", "documents": ["y"]}},
        {"classify": {**CLASSIFY, "input": "refuse"}},
        {"classify": {"model": "letters"}},
    ]
    results = served.post(PATH, bundle(*tasks))["results"]
    assert [result["id"] for result in results] == [str(index) for index in range(len(tasks))]
    for task, result in zip(tasks, results, strict=True):
        ((surface, sent),) = task.items()
        alone = served.client.post(f"/v1/{surface}", json=sent)
        assert result["status"] == alone.status_code
        expected = {surface: alone.json()} if alone.status_code == 200 else alone.json()
        assert {name: value for name, value in result.items() if name not in ("id", "status")} == expected


def test_the_timing_is_of_the_models_together(served: Served) -> None:
    fresh = bundle({"decisions": {**DECISIONS, "state": "fresh"}}, {"classify": {**CLASSIFY, "input": "fresh"}})
    header = served.client.post(PATH, json=fresh).headers["server-timing"]
    entries = {name: float(value) for name, _, value in (each.partition(";dur=") for each in header.split(", "))}
    assert list(entries) == ["parse", "tokenize", "queue", "forward", "post", "serialize", "total"]
    assert sum(entries.values()) - entries["total"] <= entries["total"] + 0.003


def test_tasks_of_one_model_run_in_one_forward(served: Served) -> None:
    served.engine.forwards.clear()
    tasks = [{"decisions": {**DECISIONS, "state": f"beside {index}"}} for index in range(5)]
    served.post(PATH, bundle(*tasks))
    assert [len(forward) for forward in served.engine.forwards] == [5]


def test_a_group_is_admitted_whole_or_not_at_all() -> None:
    with answering(names=("asker", "letters"), bounds=Bounds(max_queue=2)) as served:
        tasks = [{"decisions": {**DECISIONS, "state": f"state {index}"}} for index in range(3)]
        results = served.post(PATH, bundle(*tasks, {"classify": CLASSIFY}))["results"]
        assert [result["status"] for result in results] == [429, 429, 429, 200]
        assert {result["error"]["code"] for result in results[:3]} == {"overloaded"}


def test_the_earlier_deadline_holds(served: Served) -> None:
    late = {"deadline_ms": 0.0001}
    tasks = [{"decisions": {**DECISIONS, "state": "late", "options": own}} for own in ({}, {"deadline_ms": 60_000})]
    for result in served.post(PATH, bundle(*tasks, options=late))["results"]:
        assert result["decisions"]["answers"]["n"]["error"] == "deadline_exceeded"
    own = {"decisions": {**DECISIONS, "state": "late too", "options": late}}
    results = served.post(PATH, bundle(own, {"decisions": DECISIONS}, options={"deadline_ms": 60_000}))["results"]
    assert "error" in results[0]["decisions"]["answers"]["n"]
    assert "noul" in results[1]["decisions"]["answers"]["n"]


def test_a_model_that_is_not_ready_fails_its_tasks_alone() -> None:
    with answering(names=("asker", "letters")) as served:
        failed = served.process.models.models[0]
        failed.live = None
        results = served.post(PATH, bundle({"decisions": DECISIONS}, {"classify": CLASSIFY}))["results"]
        assert [result["status"] for result in results] == [503, 200]
        assert results[0]["error"]["code"] == "not_ready"


def test_a_number_that_is_not_finite_fails_its_task_alone(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.serving.questions._spread", lambda share, count: [float("nan")] * count)  # noqa: ARG005
    question = {"type": "score", "instructions": "x", "criteria": ["a", "b"]}
    broken = {"decisions": {**DECISIONS, "questions": {"s": question}}}
    results = served.post(PATH, bundle(broken, {"classify": CLASSIFY}))["results"]
    assert [result["status"] for result in results] == [500, 200]


def test_parts_go_to_one_task(served: Served) -> None:
    request = (
        b'{"tasks":[{"id":"a","decisions":{"model":"asker","state":"<i>","questions":{"n":{"type":"noul",'
        b'"instructions":"x"}},"assets":{"<i>":{"type":"image","part":"asset-0"}}}}]}'
    )
    files = [("request", (None, request, "application/json")), ("asset-0", ("asset-0", png(), "image/png"))]
    (result,) = served.client.post(PATH, files=files).json()["results"]
    assert result["status"] == 400
    assert "images are not supported" in result["error"]["message"]
    files.append(("asset-1", ("asset-1", png(), "image/png")))
    response = served.client.post(PATH, files=files)
    assert response.status_code == 400
    assert "asset-1" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        ([], 400, "a JSON object"),
        ({}, 400, "tasks must be a list"),
        ({"tasks": []}, 400, "tasks must be a list"),
        ({"tasks": {}}, 400, "tasks must be a list"),
        ({"tasks": [{}], "model": "m"}, 400, "['model']"),
        ({"tasks": [3]}, 400, "tasks[0] must be an object"),
        ({"tasks": [{"classify": {}}]}, 400, "tasks[0].id"),
        ({"tasks": [{"id": "", "classify": {}}]}, 400, "tasks[0].id"),
        ({"tasks": [{"id": 3, "classify": {}}]}, 400, "tasks[0].id"),
        ({"tasks": [{"id": "a"}]}, 400, "exactly one of"),
        ({"tasks": [{"id": "a", "classify": {}, "rerank": {}}]}, 400, "exactly one of"),
        ({"tasks": [{"id": "a", "classify": {}, "x": 1}]}, 400, "['x']"),
        ({"tasks": [{"id": "a", "classify": []}]}, 400, "tasks[0].classify must be an object"),
        ({"tasks": [{"id": "a", "classify": {}}, {"id": "a", "classify": {}}]}, 400, "two have the id 'a'"),
        ({"tasks": [{"id": "a", "classify": {}}], "options": [1]}, 400, "options must be an object"),
        ({"tasks": [{"id": "a", "classify": {}}], "options": {"return_meta": True}}, 400, "['return_meta']"),
        ({"tasks": [{"id": "a", "classify": {}}], "options": {"deadline_ms": True}}, 400, "must be a number"),
        ({"tasks": [{"id": "a", "classify": {}}], "options": {"deadline_ms": 0}}, 400, "above 0"),
        ({"tasks": [{"id": str(index), "classify": {}} for index in range(65)]}, 413, "at most 64"),
    ],
)
def test_refusals(served: Served, sent: Any, status: int, says: str) -> None:
    assert says in served.post(PATH, sent, status)["error"]["message"]


def test_no_deadline_is_null(served: Served) -> None:
    served.post(PATH, bundle({"classify": CLASSIFY}, options={"deadline_ms": None}))
    assert served.process.sample("bundle_tasks_count") >= 1  # type: ignore[operator]
