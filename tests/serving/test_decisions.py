"""`/v1/decisions` over HTTP: both request forms, media, options, failures in place; OpenAI's own form."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard
from PIL import Image

from tests.serving.questions import LONGEST_STATE, Served, answering, describe
from vela_jax.systemone.assets import MAX_ASSETS
from vela_jax.systemone.references import MAX_USES

NOUL = {"type": "noul", "instructions": "Is it there?"}
CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"b": "B", "a": None}}
BAD = {"type": "rank"}
PATH = "/v1/decisions"
SEEING = describe(modalities=["text", "image", "video"], image_placements=["state", "instructions"], presets=["domain"])


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 4, height: int = 3, *extra: bytes) -> bytes:
    """A grey image."""
    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def asset(data: bytes = png(), **members: Any) -> dict[str, Any]:
    return {"type": "image", "data_base64": base64.b64encode(data).decode(), **members}


def body(**members: Any) -> dict[str, Any]:
    return {"state": "a cat", "questions": {"n": NOUL}} | members


@pytest.fixture(scope="module")
def plain() -> Iterator[Served]:
    with answering() as served:
        yield served


@pytest.fixture(scope="module")
def seeing() -> Iterator[Served]:
    with answering(SEEING) as served:
        yield served


class TestStandardForm:
    def test_questions_are_answered_in_order_and_fail_in_place(self, plain: Served) -> None:
        answer = plain.post(PATH, body(questions={"z": NOUL, "bad": BAD, "a": CHOICE}))
        assert list(answer) == ["model", "answers", "usage"]
        assert list(answer["answers"]) == ["z", "bad", "a"]
        assert answer["answers"]["bad"]["error"] == "invalid_question"
        assert list(answer["answers"]["a"]["probabilities"]) == ["b", "a"]

    def test_without_any_valid_question_the_request_fails(self, plain: Served) -> None:
        error = plain.post(PATH, body(questions={"x": BAD, "y": 3}), 400)["error"]
        assert error["code"] == "invalid_request"
        assert "no question is valid: x: type must" in error["message"]
        assert "; y: a question must" in error["message"]

    def test_a_long_list_of_failures_is_cut(self, plain: Served) -> None:
        message = plain.post(PATH, body(questions={"x" * 500 + str(i): BAD for i in range(200)}), 400)["error"][
            "message"
        ]
        assert len(message) < 20_000
        assert message.endswith("and 136 more")

    @pytest.mark.parametrize(
        ("members", "says"),
        [
            ({"questions": []}, "questions must be an object"),
            ({"questions": None}, "questions must be an object"),
            ({"questions": {}}, "at least one question"),
            ({"questions": {" ": NOUL}}, "blank question ID"),
            ({"state": 3}, "state must be"),
            ({"zeta": 1, "alpha": 2}, "['alpha', 'zeta']"),
            ({"images": "data:image/png;base64,AAAA"}, "images must be a list"),
            ({"images": [url(png())]}, "images are not supported"),
            ({"videos": [url(b"x", "video/mp4")]}, "videos are not supported"),
            ({"roles": []}, "roles must be an object"),
            ({"roles": {"a": "user"}}, "needs an object as the state"),
            ({"state": {"a": "x"}, "roles": {"b": "user"}}, "['b']"),
            ({"state": {"a": "x"}, "roles": {"a": "boss"}}, "roles.a must be one of"),
            ({"state": {"a": "x"}, "roles": {"a": []}}, "roles.a must be one of"),
            ({"assets": []}, "assets must be an object"),
            ({"assets": None}, "assets must be an object"),
            ({"options": {"colour": 1}}, "['colour']"),
            ({"options": {"overflow": "window"}}, "['overflow']"),
            ({"options": [1]}, "options must be an object"),
            ({"options": {"max_tokens": 0}}, "max_tokens"),
            ({"options": {"max_tokens": True}}, "max_tokens"),
            ({"options": {"max_tokens": 1.5}}, "max_tokens"),
            ({"options": {"deadline_ms": None}}, "deadline_ms"),
            ({"options": {"deadline_ms": 0}}, "deadline_ms"),
            ({"options": {"long_context": "yes"}}, "long_context"),
            ({"options": {"return_meta": 1}}, "return_meta"),
            ({"options": {"profile": "warp"}}, "profile"),
        ],
    )
    def test_refusals(self, plain: Served, members: dict[str, Any], says: str) -> None:
        assert says in plain.post(PATH, body(**members), 400)["error"]["message"]

    @pytest.mark.parametrize("missing", ["state", "questions"])
    def test_a_missing_member_is_named(self, plain: Served, missing: str) -> None:
        sent = {name: value for name, value in body().items() if name != missing}
        assert f"{missing} is required" in plain.post(PATH, sent, 400)["error"]["message"]

    def test_a_passed_deadline_fails_the_questions_in_place(self, plain: Served) -> None:
        late = body(state="not asked before", questions={"n": NOUL, "x": BAD}, options={"deadline_ms": 0.0001})
        answer = plain.post(PATH, late)
        assert [each["error"] for each in answer["answers"].values()] == ["deadline_exceeded", "invalid_question"]

    def test_a_refusal_names_its_reason_and_bound(self, plain: Served) -> None:
        error = plain.post(PATH, body(state="x" * (LONGEST_STATE + 1)), 400)["error"]
        assert (error["reason"], error["limit"]) == ("request_tokens", LONGEST_STATE)

    def test_what_reaches_the_family(self, plain: Served) -> None:
        plain.post(PATH, body(state={"a": 1}, roles={"a": "context"}, images=[], options={"long_context": True}))
        planned = plain.model.planned[-1]
        assert (planned.state, planned.roles, planned.images) == ({"a": 1}, {"a": "context"}, ())
        assert planned.options.long_context is True

    def test_roles_are_told_apart_from_their_absence(self, plain: Served) -> None:
        plain.post(PATH, body(roles=None))
        assert plain.model.planned[-1].roles is None
        plain.post(PATH, body())
        assert plain.model.planned[-1].roles is not None

    def test_absent_instructions_are_refused_in_the_internal_form(self, plain: Served) -> None:
        questions = {"n": NOUL, "c": {"type": "choice", "criteria": {"a": "A", "b": "B"}}}
        assert plain.post(PATH, body(questions=questions))["answers"]["c"]["error"] == "invalid_question"


class TestStates:
    def test_entries_are_answered_by_name(self, plain: Served) -> None:
        answer = plain.post(
            PATH,
            {
                "states": {
                    "z": body(questions={"n": NOUL}),
                    "a": body(state="a dog", questions={"n": CHOICE, "x": BAD}),
                },
                "options": {"return_meta": True},
            },
        )
        assert list(answer) == ["model", "states", "usage", "meta"]
        assert list(answer["states"]) == ["z", "a"]
        assert answer["usage"]["input_tokens"] == sum(
            each["usage"]["input_tokens"] for each in answer["states"].values()
        )
        assert all(each["meta"] == answer["meta"] for each in answer["states"].values())
        assert answer["states"]["a"]["answers"]["x"]["error"] == "invalid_question"

    def test_an_entry_answers_as_it_would_alone(self, plain: Served) -> None:
        alone = plain.post(PATH, body())
        assert plain.post(PATH, {"states": {"a": body(), "b": body(state="x")}})["states"]["a"] == alone

    def test_an_entry_with_refused_media_fails_alone(self, plain: Served) -> None:
        states = {"pic": body(images=[url(png())]), "long": body(state="x" * 3000), "good": body()}
        answer = plain.post(PATH, {"states": states})
        for name in ("pic", "long"):
            failed = answer["states"][name]["answers"]["n"]
            assert (failed["type"], failed["error"], failed["reason"]) == ("noul", "invalid_input", "input_malformed")
        assert "noul" in answer["states"]["good"]["answers"]["n"]

    def test_when_every_entry_is_refused_the_first_refusal_answers(self, plain: Served) -> None:
        states = {"long": body(state="x" * 3000), "pic": body(images=[url(png())])}
        assert plain.post(PATH, {"states": states}, 400)["error"]["reason"] == "request_tokens"

    def test_an_entry_without_valid_questions_fails_in_place(self, plain: Served) -> None:
        bad = body(questions={"x": BAD})
        answer = plain.post(PATH, {"states": {"bad": bad, "good": body()}})
        assert answer["states"]["bad"]["answers"]["x"]["error"] == "invalid_question"
        assert "a.x: type" in plain.post(PATH, {"states": {"a": bad, "b": bad}}, 400)["error"]["message"]

    @pytest.mark.parametrize(
        "members",
        [
            {"states": []},
            {"states": "x"},
            {"states": {}},
            {"states": {" ": body()}},
            {"states": {"a": []}},
            {"states": {"a": {"state": "x"}}},
            {"states": {"a": {"questions": {"n": NOUL}}}},
            {"states": {"a": {**body(), "model": "m"}}},
            {"states": {"a": {**body(), "options": {}}}},
            {"states": {"a": body()}, "state": "x"},
            {"states": {"a": body()}, "questions": {"n": NOUL}},
            {"states": {"a": body()}, "images": []},
            {"states": {"a": body()}, "roles": None},
            {"states": {"a": body(), "b": body(questions={})}},
            {"states": {"a": body(), "b": body(state=" ")}},
            {"states": {"a": body()}, "options": {"max_tokens": 0}},
        ],
    )
    def test_refusals(self, plain: Served, members: dict[str, Any]) -> None:
        assert plain.post(PATH, members, 400)["error"]["code"] == "invalid_request"


class TestMedia:
    @pytest.mark.parametrize(
        ("image", "says"),
        [
            ("https://example.org/a.png", "a data URL"),
            (3, "a data URL"),
            ("data:image/png;base64", "no comma"),
            ("data:text/plain;base64,AAAA", "must begin data:image/"),
            ("data:image/png,AAAA", "must begin data:image/"),
            ("data:image/gif;base64,AAAA", "must be one of"),
            ("data:image/png;base64,not base64!", "not valid base64"),
            ("data:image/png;base64,AAAA", "no PNG, JPEG or WebP"),
            (url(png()[:-5]), "cut short"),
            (url(png().replace(b"IDAT", b"IDAS")), "corrupt"),
            (url(png(4, 3, chunk(b"acTL", bytes(8)))), "animated"),
            (url(png(2010, 10)), "aspect ratio"),
            (url(png(5000, 4000)), "pixels"),
        ],
    )
    def test_refused_images(self, seeing: Served, image: Any, says: str) -> None:
        message = seeing.post(PATH, body(images=[url(png()), image]), 400)["error"]["message"]
        assert message.startswith("images[1]: ")
        assert says in message

    def test_refused_videos(self, seeing: Served) -> None:
        for video in ("data:video/avi;base64,AAAA", "data:image/png;base64,AAAA", "x", url(b"x", "video/mp4") + "!"):
            assert seeing.post(PATH, body(videos=[video]), 400)["error"]["message"].startswith("videos[0]: ")

    def test_images_and_videos_reach_the_family(self, seeing: Served) -> None:
        clip = url(b"clip", "video/mp4;codecs=avc1")
        seeing.post(
            PATH, body(images=[url(png(), "IMAGE/JPG").replace("data:", "DATA:").replace(",", " ,")], videos=[clip])
        )
        planned = seeing.model.planned[-1]
        assert [(image.width, image.height) for image in planned.images] == [(4, 3)]
        assert [video.data for video in planned.videos] == [b"clip"]

    def test_references_become_numbered_images(self, seeing: Served) -> None:
        state = {"<i>": "one <i>, two <ii>", "b": ["<i>", {"c": "<i><ii>"}]}
        seeing.post(PATH, body(state=state, images=[url(png())], assets={"<i>": asset(), "<ii>": asset(png(5, 5))}))
        planned = seeing.model.planned[-1]
        assert planned.state == {"<i>": "one [image 2], two [image 3]", "b": ["[image 4]", {"c": "[image 5][image 6]"}]}
        assert [image.width for image in planned.images] == [4, 4, 5, 4, 4, 5]

    def test_the_longest_reference_wins(self, seeing: Served) -> None:
        seeing.post(PATH, body(state="ab a abc", assets={"a": asset(), "ab": asset(), "abc": asset()}))
        assert seeing.model.planned[-1].state == "[image 1] [image 2] [image 3]"

    def test_images_of_a_question_are_its_own(self, seeing: Served) -> None:
        question = {**NOUL, "instructions": "Is <i> in it?"}
        seeing.post(PATH, body(state="see <i>", questions={"n": NOUL, "q": question}, assets={"<i>": asset()}))
        planned = seeing.model.planned[-1]
        assert planned.questions["q"]["instructions"] == "Is [image 2] in it?"
        assert list(planned.question_images) == ["q"]
        assert len(planned.images) == 1

    @pytest.mark.parametrize(
        "options",
        [
            {"criteria": {"a": "like <i>", "b": None}},
            {"criteria": {"a": {"deep": ["<i>"]}, "b": None}},
            {"choices": [{"key": "a", "description": "<i>"}, {"key": "b"}]},
        ],
    )
    def test_a_place_that_the_card_does_not_list_fails_the_question(self, seeing: Served, options: Any) -> None:
        question = {"type": "choice", "instructions": "Which?", **options}
        answer = seeing.post(PATH, body(questions={"n": NOUL, "c": question, "d": NOUL}, assets={"<i>": asset()}))
        assert list(answer["answers"]) == ["n", "c", "d"]
        failed = answer["answers"]["c"]
        assert (failed["type"], failed["error"]) == ("choice", "invalid_question")
        assert failed["reason"] == "question_images_unsupported"
        assert "noul" in answer["answers"]["d"]

    def test_keys_are_never_replaced(self, seeing: Served) -> None:
        question = {"type": "choice", "instructions": "Which?", "criteria": {"<i>": "A", "b": None}}
        listed = {"type": "choice", "instructions": "Which?", "choices": [{"key": "<i>"}, {"key": "b"}]}
        sent = body(state={"<i>": "x <i>"}, questions={"c": question, "l": listed}, assets={"<i>": asset()})
        answer = seeing.post(PATH, sent)
        assert {each["choice"] for each in answer["answers"].values()} <= {"<i>", "b"}
        assert list(seeing.model.planned[-1].state) == ["<i>"]

    @pytest.mark.parametrize(
        ("assets", "says"),
        [
            ({"<i>": []}, "must be an object"),
            ({"<i>": {"type": "audio", "data_base64": ""}}, "type must be"),
            ({"<i>": {"type": "image"}}, "either data_base64 or part"),
            ({"<i>": asset(part="a")}, "either data_base64 or part"),
            ({"<i>": {"type": "image", "data_base64": 3}}, "must be a string"),
            ({"<i>": {"type": "image", "part": "none"}}, "no part of the body"),
            ({"<i>": {"type": "image", "part": 3}}, "must be a string"),
            ({"<i>": asset(colour=1)}, "['colour']"),
            ({"": asset()}, "1 to 1024 bytes"),
            ({"é" * 513: asset()}, "1 to 1024 bytes"),
            ({f"{i:03}" + "x" * 1000: asset(b"") for i in range(66)}, "65536 bytes together"),
            ({f"<{i}>": asset(b"") for i in range(MAX_ASSETS + 1)}, "at most 256"),
            ({"<i>": asset(b"none")}, "no PNG"),
            ({"<i>": asset(), "<unused>": asset()}, "['<unused>']"),
            ({"<i>": {"type": "image", "data_base64": "?"}}, "not valid base64"),
        ],
    )
    def test_refused_assets(self, seeing: Served, assets: dict[str, Any], says: str) -> None:
        assert says in seeing.post(PATH, body(state="see <i>", assets=assets), 400)["error"]["message"]

    def test_a_format_is_not_looked_at(self, seeing: Served) -> None:
        seeing.post(PATH, body(state="<i>", assets={"<i>": asset(format="gif")}))

    def test_repeated_references_stay_within_bounds(self, seeing: Served) -> None:
        message = seeing.post(PATH, body(state="i" * (MAX_USES + 1), assets={"i": asset()}), 400)["error"]["message"]
        assert f"more than {MAX_USES} times" in message

    def test_an_image_that_one_entry_refuses(self, seeing: Served) -> None:
        states = {"a": body(state="<bad>"), "b": body(state="<good>")}
        assets = {"<bad>": asset(b"x"), "<good>": asset()}
        answer = seeing.post(PATH, {"states": states, "assets": assets})
        assert answer["states"]["a"]["answers"]["n"]["reason"] == "input_malformed"
        assert "noul" in answer["states"]["b"]["answers"]["n"]

    def test_a_text_model_refuses_assets(self, plain: Served) -> None:
        message = plain.post(PATH, body(state="<i>", assets={"<i>": asset()}), 400)["error"]["message"]
        assert "images are not supported" in message
        assert "['<i>']" in plain.post(PATH, body(assets={"<i>": asset()}), 400)["error"]["message"]


class TestForms:
    SENT = b'{"state":"<i> and <j>","questions":{"n":{"type":"noul","instructions":"x"}},"assets":{"<i>":%s,"<j>":%s}}'
    PART = b'{"type":"image","part":"asset-0"}'

    def files(self, request: bytes, *names: str) -> list[tuple[str, tuple[str | None, bytes, str]]]:
        parts = [(name, (name, png(), "application/octet-stream")) for name in names]
        return [("request", (None, request, "application/json")), *parts]

    def test_parts_are_assets_beside_base64(self, seeing: Served) -> None:
        inline = b'{"type":"image","data_base64":"%s"}' % base64.b64encode(png(7, 7))
        response = seeing.client.post(PATH, files=self.files(self.SENT % (self.PART, inline), "asset-0"))
        assert response.status_code == 200, response.text
        assert [image.width for image in seeing.model.planned[-1].images] == [4, 7]

    def test_a_compressed_form(self, seeing: Served) -> None:
        other = b'{"type":"image","part":"asset-1"}'
        built = seeing.client.build_request(
            "POST", PATH, files=self.files(self.SENT % (self.PART, other), "asset-0", "asset-1")
        )
        headers = {"content-type": built.headers["content-type"], "content-encoding": "zstd"}
        response = seeing.client.post(PATH, content=zstandard.compress(built.read()), headers=headers)
        assert response.status_code == 200, response.text

    def test_a_part_has_one_asset(self, seeing: Served) -> None:
        for request, names, says in (
            (self.SENT % (self.PART, self.PART), ("asset-0",), "another asset has taken"),
            (b'{"state":"x","questions":{}}', ("asset-0",), "['asset-0']"),
            (b'{"input":"x","questions":[{"type":"predicate","instructions":"y"}]}', ("asset-0",), "['asset-0']"),
        ):
            response = seeing.client.post(PATH, files=self.files(request, *names))
            assert response.status_code == 400
            assert says in response.json()["error"]["message"]


class TestOpenAIForm:
    def ask(self, served: Served, questions: list[Any], status: int = 200, **members: Any) -> Any:
        return served.post(PATH, {"model": "asker", "input": "a cat", "questions": questions} | members, status)

    def test_answers_come_as_a_list(self, plain: Served) -> None:
        answer = self.ask(
            plain,
            [
                {"type": "predicate", "instructions": "Is it?", "name": "p"},
                {"type": "choice", "instructions": "Which?", "choices": [{"value": True}, {"value": "true"}]},
                {
                    "type": "score",
                    "instructions": "How?",
                    "levels": [{"label": "lo"}, {"label": "hi", "description": "h"}],
                },
                {"type": "choice", "instructions": " ", "choices": [{"value": "a"}, {"value": "b"}]},
            ],
            prompt_cache_key="k",
            safety_identifier=None,
        )
        predicate, choice, score, refusal = answer["answers"]
        assert predicate["name"] == "p"
        assert [each["value"] for each in choice["probabilities"]] == [True, "true"]
        assert [(each["label"], each["value"]) for each in score["probabilities"]] == [("lo", 0), ("hi", 1)]
        assert refusal == {"type": "refusal", "name": None}
        assert answer["usage"]["total_tokens"] == answer["usage"]["input_tokens"] > 0
        assert plain.model.planned[-1].questions["2"]["criteria"] == ["lo", "hi: h"]

    def test_messages_become_the_state(self, plain: Served) -> None:
        predicate = [{"type": "predicate", "instructions": [{"type": "input_text", "text": "Is it?"}]}]
        parts = [{"type": "input_text", "text": "a"}, {"type": "input_json", "data": {"b": 1}}]
        self.ask(plain, predicate, input=[{"role": "user", "content": parts}])
        assert plain.model.planned[-1].state == 'a\n{"b":1}'
        call = {"type": "function_call", "name": "f", "call_id": "1", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "r"}]}
        self.ask(plain, predicate, input=[{"role": "system", "content": "s"}, call, output])
        assert plain.model.planned[-1].state == [
            {"role": "system", "content": "s"},
            {"type": "function_call", "name": "f", "call_id": "1", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "r"},
        ]

    def test_images_of_messages(self, seeing: Served) -> None:
        predicate = [{"type": "predicate", "instructions": "Is it?"}]
        content = [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": url(png())}]
        self.ask(seeing, predicate, input=[{"role": "user", "content": content}])
        assert len(seeing.model.planned[-1].images) == 1
        content[1] = {"type": "input_image", "image_url": "https://example.org/x.png"}
        assert (
            "data URL"
            in self.ask(seeing, predicate, 400, input=[{"role": "user", "content": content}])["error"]["message"]
        )

    @pytest.mark.parametrize(
        ("members", "says"),
        [
            ({"questions": []}, "1 to 400"),
            ({"questions": [3]}, "questions[0] must be an object"),
            ({"questions": [{"type": "noul", "instructions": "x"}]}, "questions[0].type"),
            ({"questions": [{"type": "predicate"}]}, "questions[0].instructions"),
            ({"questions": [{"type": "predicate", "instructions": [{"type": "x"}]}]}, "instructions[0] must be a part"),
            ({"questions": [{"type": "predicate", "instructions": "x", "name": 3}]}, "name must be a string"),
            ({"questions": [{"type": "predicate", "instructions": "x", "choices": []}]}, "['choices']"),
            ({"questions": [{"type": "choice", "instructions": "x"}]}, "choices must be a list"),
            (
                {"questions": [{"type": "choice", "instructions": "x", "choices": [{"value": 3}]}]},
                "string or a boolean",
            ),
            ({"questions": [{"type": "choice", "instructions": "x", "choices": [{"value": "a"}] * 2}]}, "unique"),
            ({"questions": [{"type": "score", "instructions": "x", "levels": [{"label": 3}]}]}, "label must be"),
            ({"questions": [{"type": "score", "instructions": "x", "levels": [{"x": 3}]}]}, "an object with label"),
            ({"input": 3}, "input must be"),
            ({"input": [3]}, "input[0] must be an object"),
            ({"input": [{"type": "x"}]}, "input[0].type"),
            ({"input": [{"role": "boss", "content": "x"}]}, "input[0].role"),
            ({"input": [{"role": "user"}]}, "input[0].content is required"),
            ({"input": [{"role": "user", "content": 3}]}, "input[0].content must be"),
            ({"colour": 1}, "['colour']"),
            ({"model": "nobody"}, "not served"),
        ],
    )
    def test_refusals(self, plain: Served, members: dict[str, Any], says: str) -> None:
        status = 404 if "model" in members else 400
        good = [{"type": "predicate", "instructions": "Is it?"}]
        sent = {"model": "asker", "input": "a cat", "questions": good} | members
        error = plain.post(PATH, sent, status)["error"]
        assert says in error["message"]


def test_still_images_of_every_format_are_told_by_their_bytes(seeing: Served) -> None:
    for name in ("PNG", "JPEG", "WEBP"):
        written = io.BytesIO()
        Image.new("RGB", (31, 17)).save(written, name)
        seeing.post(PATH, body(images=[url(written.getvalue())]))
        image = seeing.model.planned[-1].images[0]
        assert (image.width, image.height) == (31, 17)
        truncated = url(written.getvalue()[: len(written.getvalue()) // 2])
        assert seeing.post(PATH, body(images=[truncated]), 400)["error"]["message"].startswith("images[0]: ")


def test_more_states_than_could_ever_be_admitted(plain: Served) -> None:
    error = plain.post(PATH, {"states": {str(index): body() for index in range(257)}}, 413)["error"]
    assert (error["code"], error["limit"]) == ("request_too_large", 256)
