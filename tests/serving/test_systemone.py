"""The System One endpoints over HTTP, under both schemas: forms, whole failures, error shapes, overload."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from serving.config import Bounds
from serving.errors import QUESTION_STATUS
from serving.schema import Schema
from tests.serving.fakes import FakeEngine, Gate
from tests.serving.questions import Served, answering, describe
from tests.serving.test_decisions import asset, png, url
from vela_jax.systemone.standard import DEFAULT_INSTRUCTIONS

NOUL = {"type": "noul", "instructions": "Is it there?"}
BAD = {"type": "rank"}
PATH = "/v1/systemone"
SEEING = describe(modalities=["text", "image", "video"], image_placements=["state"], presets=["domain"])


def body(**members: Any) -> dict[str, Any]:
    return {"state": "a cat", "questions": {"n": NOUL}} | members


@pytest.fixture(scope="module")
def newer() -> Iterator[Served]:
    with answering(SEEING) as served:
        yield served


@pytest.fixture(scope="module")
def older() -> Iterator[Served]:
    with answering(SEEING, Schema.V4) as served:
        yield served


class TestForms:
    def test_every_question_is_answered(self, newer: Served) -> None:
        answer = newer.post(PATH, body(questions={"b": NOUL, "a": NOUL}, options={"return_meta": True}))
        assert list(answer) == ["model", "answers", "usage", "meta"]
        assert list(answer["answers"]) == ["b", "a"]

    def test_an_object_state_has_parts_under_the_older_schema_only(self, newer: Served, older: Served) -> None:
        for served in (newer, older):
            served.post(PATH, body(state={"request": "x"}))
        assert newer.model.planned[-1].roles is None
        assert older.model.planned[-1].roles is not None
        newer.post(PATH, body(state={"request": "x"}, roles={"request": "user"}))
        assert newer.model.planned[-1].roles == {"request": "user"}

    def test_the_internal_endpoint_reads_the_internal_form_under_both(self, newer: Served, older: Served) -> None:
        for served in (newer, older):
            served.post("/v1/decisions", body(state={"request": "x"}))
            assert served.model.planned[-1].roles is not None

    @pytest.mark.parametrize(
        ("header", "option", "long"),
        [("true", False, True), ("True", False, True), ("1", False, False), ("false", True, True), (None, True, True)],
    )
    def test_a_header_allows_long_questions(
        self, newer: Served, older: Served, header: str | None, option: bool, long: bool
    ) -> None:
        sent = {} if header is None else {"TypeSafe-Danger-Zone-Long-Context": header}
        for served in (newer, older):
            served.post(PATH, body(options={"long_context": option}), headers=sent)
            assert served.model.planned[-1].options.long_context is long
            served.post("/v1/decisions", body(), headers=sent)
            assert served.model.planned[-1].options.long_context is False

    @pytest.mark.parametrize(
        "question",
        [
            {"type": "choice", "criteria": {"a": None, "b": "B"}},
            {"type": "choice", "choices": [{"key": "a"}, {"key": "b"}], "criteria": None},
            {"type": "score", "criteria": ["lo", "hi"]},
            {"type": "score", "levels": ["lo", {"x": 1}]},
            {"type": "noul", "criteria": {"true": "A cat"}},
            {"type": "noul", "criteria": {"true": None, "false": "No cat"}},
            {"type": "noul", "choices": [{"key": "true", "description": "A cat"}]},
        ],
    )
    @pytest.mark.parametrize("absent", [True, False])
    def test_criteria_alone_ask(self, newer: Served, older: Served, question: dict[str, Any], absent: bool) -> None:
        asked = question if absent else {**question, "instructions": None}
        for served in (newer, older):
            served.post(PATH, body(questions={"q": asked}))
            assert served.model.planned[-1].questions["q"]["instructions"] == DEFAULT_INSTRUCTIONS[question["type"]]

    @pytest.mark.parametrize(
        "question",
        [
            {"type": "noul"},
            {"type": "noul", "instructions": None},
            {"type": "noul", "criteria": {"true": None}},
            {"type": "noul", "criteria": {}},
            {"type": "choice"},
            {"type": "choice", "criteria": {}},
            {"type": "score", "instructions": None},
            {"instructions": None, "criteria": {"a": "A"}},
            {"type": "choice", "instructions": " ", "criteria": {"a": None, "b": None}},
        ],
    )
    def test_a_question_that_says_nothing_fails(self, newer: Served, question: dict[str, Any]) -> None:
        assert newer.post(PATH, body(questions={"n": NOUL, "q": question}), 422)["question"] == "q"

    def test_a_known_preset_counts_and_an_unknown_one_does_not(self, newer: Served) -> None:
        asked = {**NOUL, "preset": "toxic"}
        newer.post(PATH, body(questions={"q": asked}))
        assert newer.model.planned[-1].questions["q"] == NOUL
        newer.post(PATH, body(questions={"q": {**NOUL, "preset": "domain"}}), 422)  # left to the family
        assert newer.model.planned[-1].questions["q"] == {"type": "noul", "preset": "domain"}
        newer.post(PATH, body(questions={"q": {"type": "noul", "preset": "toxic"}}), 422)
        assert newer.model.planned[-1].questions["q"] == {"type": "noul", "preset": "toxic"}

    def test_media_in_front_of_the_state(self, newer: Served, older: Served) -> None:
        clip = {"type": "video", "data_base64": "Y2xpcA=="}
        assets = {"<i>": asset(), "<j>": asset(png(6, 6)), "<v>": clip}
        for served in (newer, older):
            served.post(
                PATH, body(state=["<i>", "<j>", "<v>", {"a": "see <i>"}], assets=assets, images=[url(png(9, 9))])
            )
            planned = served.model.planned[-1]
            assert planned.state == {"a": "see [image 4]"}
            assert [image.width for image in planned.images] == [9, 4, 6, 4]
            assert [video.data for video in planned.videos] == [b"clip"]

    @pytest.mark.parametrize(
        ("state", "text"),
        [
            (["<v>", "<i>", "x"], ["[video 1]", "[image 1]", "x"]),
            (["<i>", "x", "<v>"], ["[image 1]", "x", "[video 1]"]),
            (["<i>", "<v>"], ["[image 1]", "[video 1]"]),
            (["<i>", "<v>", "x", "y"], ["[image 1]", "[video 1]", "x", "y"]),
        ],
    )
    def test_any_other_order_is_an_ordinary_state(self, newer: Served, state: Any, text: Any) -> None:
        assets = {"<i>": asset(), "<v>": {"type": "video", "data_base64": "Y2xpcA=="}}
        newer.post(PATH, body(state=state, assets=assets))
        assert newer.model.planned[-1].state == text

    def test_the_internal_form_has_no_front(self, newer: Served) -> None:
        newer.post("/v1/decisions", body(state=["<i>", "x"], assets={"<i>": asset()}))
        assert newer.model.planned[-1].state == ["[image 1]", "x"]


class TestFailures:
    QUESTIONS = {"good": NOUL, "bad one": BAD, "worse": 3}  # noqa: RUF012

    def test_one_failed_question_fails_the_request(self, newer: Served) -> None:
        error = newer.post(PATH, body(questions=self.QUESTIONS), 422)
        assert list(error) == ["detail", "code", "question"]
        assert (error["code"], error["question"]) == ("question_failed", "bad one")
        assert [each["loc"] for each in error["detail"]] == [
            ["body", "questions", "bad one"],
            ["body", "questions", "worse"],
        ]
        assert {each["type"] for each in error["detail"]} == {"invalid_question"}

    def test_the_older_schema_has_an_error_object_beside(self, older: Served) -> None:
        error = older.post(PATH, body(questions=self.QUESTIONS), 422)
        assert list(error) == ["error", "detail", "code", "question"]
        assert list(error["error"]) == ["code", "question_error", "reason", "question", "message"]
        assert error["error"]["question_error"] == "invalid_question"
        assert "bad one: type must" in error["error"]["message"]
        assert "; worse: a question must" in error["error"]["message"]

    def test_in_a_batch_of_states_the_entry_is_named(self, newer: Served, older: Served) -> None:
        states = {"good": body(), "poor": body(questions={"n": NOUL, "bad": BAD})}
        error = newer.post(PATH, {"states": states}, 422)
        assert (error["question"], error["state"]) == ("bad", "poor")
        assert error["detail"][0]["loc"] == ["body", "states", "poor", "questions", "bad"]
        assert older.post(PATH, {"states": states}, 422)["error"]["state"] == "poor"

    def test_an_entry_with_refused_media_is_a_bad_input(self, newer: Served) -> None:
        states = {"pic": body(images=["data:image/png;base64,AAAA"]), "good": body()}
        error = newer.post(PATH, {"states": states}, 400)
        assert (error["code"], error["state"], error["reason"]) == ("question_failed", "pic", "input_malformed")
        assert "pic.n: images[0]" in error["detail"]

    def test_a_reason_is_the_type_of_its_detail(self, newer: Served) -> None:
        for kind in ("box", "track"):
            error = newer.post(PATH, body(questions={"n": NOUL, "q": {"type": kind, "instructions": "x"}}), 422)
            assert error["reason"] == error["detail"][0]["type"] == f"{kind}_unsupported"
        question = {"type": "noul", "instructions": "like <i>?"}
        error = newer.post(PATH, body(questions={"q": question}, assets={"<i>": asset()}), 422)
        assert error["reason"] == "question_images_unsupported"

    def test_a_passed_deadline_is_a_504(self, newer: Served) -> None:
        error = newer.post(PATH, body(state="late", options={"deadline_ms": 0.0001}), 504)
        assert (error["code"], error["question"]) == ("question_failed", "n")
        assert "n: deadline_exceeded" in error["detail"]

    @pytest.mark.parametrize(
        ("sent", "status", "code"),
        [
            (body(state=3), 400, "invalid_request"),
            (body(colour=1), 400, "invalid_request"),
            (body(questions={}), 400, "invalid_request"),
            ([], 400, "invalid_request"),
            (body(model="nobody"), 404, "model_not_found"),
        ],
    )
    def test_refusals_have_the_schema_of_the_process(
        self, newer: Served, older: Served, sent: Any, status: int, code: str
    ) -> None:
        error = newer.post(PATH, sent, status)
        assert list(error) == ["detail", "code"]
        assert error["code"] == code
        assert isinstance(error["detail"], str)
        both = older.post(PATH, sent, status)
        assert both == {"error": {"code": code, "message": both["detail"]}, "detail": both["detail"], "code": code}

    def test_a_bound_stands_in_the_body(self, newer: Served) -> None:
        error = newer.post(PATH, body(state="x" * 3000), 400)
        assert (error["code"], error["reason"], error["limit"]) == ("invalid_request", "request_tokens", 2000)

    def test_bodies_that_cannot_be_read(self, newer: Served) -> None:
        for content, headers, status in (
            (b"{", {}, 400),
            (b"\xff", {}, 400),
            (b"{}", {"content-encoding": "br"}, 415),
            (b" " * 8_388_609, {}, 413),
        ):
            response = newer.client.post(PATH, content=content, headers=headers)
            assert response.status_code == status
            assert set(response.json()) == {"detail", "code"}
            assert response.headers["x-typesafe-request-id"]

    def test_the_statuses_of_failed_questions(self) -> None:
        assert dict(QUESTION_STATUS) == {
            "invalid_question": 422,
            "max_length_exceeded": 400,
            "scan_budget_exceeded": 400,
            "invalid_input": 400,
            "invalid_model_output": 500,
            "unavailable": 503,
            "deadline_exceeded": 504,
        }


def test_a_model_without_decisions_is_a_422_with_a_list() -> None:
    with answering(names=("letters",)) as served:
        error = served.post(PATH, body(), 422)
        assert error["detail"][0]["loc"] == ["body", "model"]
        assert error["code"] == error["detail"][0]["type"] == "unsupported_surface"


@pytest.mark.parametrize(("schema", "status"), [(Schema.V5, 529), (Schema.V4, 429)])
def test_overload(schema: Schema, status: int) -> None:
    gate = Gate()
    gate.open(1000)
    with answering(schema=schema, bounds=Bounds(max_queue=1), gate=lambda: FakeEngine(gate=gate)) as served:
        while gate._permits.acquire(blocking=False):
            pass
        slow = threading.Thread(target=lambda: served.client.post(PATH, json=body()))
        slow.start()
        try:
            scheduler = served.process.models.models[0].require_live().scheduler
            while scheduler.pending[0] == 0:
                time.sleep(0.001)
            response = served.client.post(PATH, json=body(state="another"))
            assert response.status_code == status
            assert response.json()["code"] == "overloaded"
            assert response.headers.get("retry-after") == ("1" if status == 529 else None)
            assert served.client.post("/v1/decisions", json=body(state="another")).status_code == 429
            batch = served.post("/v1/systemone/batch", {"requests": {"a": body(state="third")}})
            assert batch["responses"]["a"]["status"] == status
        finally:
            gate.open(1000)
            slow.join()


class TestBatch:
    PATH = "/v1/systemone/batch"

    def test_each_request_is_answered_as_if_alone(self, newer: Served) -> None:
        requests = {
            "b": body(),
            "a": body(questions={"x": BAD}),
            "s": {"states": {"e": body()}},
            "m": body(model="no"),
            "n": 3,
        }
        answer = newer.post(self.PATH, {"requests": requests})
        assert list(answer) == ["responses"]
        assert list(answer["responses"]) == list(requests)
        for name, request in requests.items():
            alone = newer.client.post(PATH, json=request)
            expected = alone.json() if alone.status_code == 200 else {**alone.json(), "status": alone.status_code}
            assert answer["responses"][name] == expected

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            ([], 400),
            ({}, 400),
            ({"requests": []}, 400),
            ({"requests": {}}, 400),
            ({"requests": {" ": body()}}, 400),
            ({"requests": {"a": body()}, "model": "m"}, 400),
            ({"questions": {"n": NOUL}, "states": []}, 400),
            ({"requests": {str(index): {} for index in range(65)}}, 413),
        ],
    )
    def test_refusals(self, newer: Served, sent: Any, status: int) -> None:
        error = newer.post(self.PATH, sent, status)
        assert isinstance(error["detail"], str)
        assert "error" not in error

    def test_parts_belong_to_one_request(self, newer: Served) -> None:
        request = (
            b'{"requests":{"a":{"state":"<i>","questions":{"n":{"type":"noul","instructions":"x"}},'
            b'"assets":{"<i>":{"type":"image","part":"asset-0"}}}}}'
        )
        files = [("request", (None, request, "application/json")), ("asset-0", ("asset-0", png(), "image/png"))]
        response = newer.client.post(self.PATH, files=files)
        assert list(response.json()["responses"]["a"]) == ["model", "answers", "usage"]
        files.append(("asset-1", ("asset-1", png(), "image/png")))
        assert "asset-1" in newer.client.post(self.PATH, files=files).json()["detail"]
