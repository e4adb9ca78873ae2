from __future__ import annotations

import gzip
import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zstandard

from serving.errors import STATUS, ErrorCode, RequestFailed
from serving.received import Endpoint
from tests.serving.http.loopback import LIMIT, PATIENCE, Answer, Loopback, request_bytes, serving

PATHS = [endpoint.path for endpoint in Endpoint if not endpoint.is_systemone]
READS = ["/v1/models", "/v1/models/sorter", "/health", "/health/live", "/metrics", "/openapi.yaml"]
PHASES = ("parse", "tokenize", "queue", "forward", "post", "serialize", "total")
TIMING = re.compile(", ".join(rf"{phase};dur=(\d+\.\d{{3}})" for phase in PHASES))


@pytest.fixture(scope="module")
def shared() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


@pytest.fixture
def web(shared: Loopback) -> Loopback:
    shared.reset()
    return shared


def times(header: str) -> dict[str, float]:
    """The entries of a `Server-Timing` header of exactly the contract's form."""
    match = TIMING.fullmatch(header)
    assert match, header
    found = dict(zip(PHASES, map(float, match.groups()), strict=True))
    assert sum(found.values()) - found["total"] <= found["total"] + 0.003
    return found


def check_error(response: Any, status: int, code: str = "invalid_request") -> str:
    """Check an error body of a POST surface to the member; give its message."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/json")
    body = response.json()
    assert list(body) == ["error"]
    assert list(body["error"]) == ["code", "message"]
    assert body["error"]["code"] == code
    assert response.headers["x-request-id"] == response.headers["x-typesafe-request-id"]
    message = body["error"]["message"]
    assert isinstance(message, str)
    assert message
    return message


class TestAnswers:
    @pytest.mark.parametrize("route", list(Endpoint))
    def test_a_body_is_decoded_answered_and_encoded(self, web: Loopback, route: Any) -> None:
        response = web.post('{"é":[1,2.5,null,"😀"]}'.encode(), route.path)
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert response.content == f'{{"surface":"{route.value}","body":{{"é":[1,2.5,null,"😀"]}}}}'.encode()
        assert web.metrics.calls == [(route.path, 200)]

    def test_the_type_and_the_key_of_a_request_are_not_looked_at(self, web: Loopback) -> None:
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
            assert web.post(content_type=content_type, authorization="Bearer none").status_code == 200
        with web.connection() as connection:
            connection.send(request_bytes())
            assert connection.read().status == 200

    def test_large_answers_are_whole(self, web: Loopback) -> None:
        vector = [index / 7 for index in range(50_000)]
        web.service.reply = lambda *_: {"data": vector, "none": None}
        assert web.post().json() == {"data": vector, "none": None}

    def test_values_that_are_no_objects_reach_the_service(self, web: Loopback) -> None:
        for body in (b"[]", b"3", b'"x"', b"null"):
            assert web.post(body).status_code == 200
        assert web.service.seen == [[], 3, "x", None]


class TestLimit:
    def test_exactly_the_limit_is_allowed(self, web: Loopback) -> None:
        body = json.dumps("x" * (LIMIT - 2)).encode()
        assert len(body) == LIMIT
        assert web.post(body).status_code == 200
        message = check_error(web.post(body + b" "), 413, "request_too_large")
        assert str(LIMIT) in message

    def test_chunked_bodies_are_counted(self, web: Loopback) -> None:
        def chunks(total: int) -> Iterator[bytes]:
            yield b'"'
            for _ in range(total - 2):
                yield b"x"
            yield b'"'

        assert web.client.post("/v1/classify", content=chunks(LIMIT)).status_code == 200
        check_error(web.client.post("/v1/classify", content=chunks(LIMIT + 1)), 413, "request_too_large")

    def test_a_declared_length_over_the_limit_is_refused_unread(self, web: Loopback) -> None:
        with web.connection() as connection:
            connection.send(b"POST /v1/classify HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999999\r\n\r\n{")
            answer = connection.read()
        assert (answer.status, answer.json()["error"]["code"]) == (413, "request_too_large")
        assert times(answer.headers["server-timing"])["parse"] == 0

    def test_an_expecting_client_is_spared_its_body(self, web: Loopback) -> None:
        with web.connection() as connection:
            head = request_bytes(b"", expect="100-continue").replace(b"content-length: 0", b"content-length: 5000")
            connection.send(head)
            assert connection.read().status == 413

    def test_the_connection_lives_on_after_a_refused_body(self, web: Loopback) -> None:
        with web.connection() as connection:
            connection.send(request_bytes(b" " * (LIMIT + 1)))
            assert connection.read().status == 413
            connection.send(request_bytes(b"[1]"))
            assert connection.read().json()["body"] == [1]

    def test_a_closing_client_reads_its_refusal_however_much_it_sends(self, web: Loopback) -> None:
        with web.connection() as connection:
            connection.send(request_bytes(b" " * 3_000_000, connection="close"))
            assert connection.read().status == 413
            assert connection.is_closed()

    def test_decoded_bytes_are_counted_again(self, web: Loopback) -> None:
        body = json.dumps("x" * (LIMIT - 2)).encode()
        assert web.post(gzip.compress(body), content_encoding="gzip").status_code == 200
        check_error(web.post(gzip.compress(body + b" "), content_encoding="gzip"), 413, "request_too_large")


class TestCodings:
    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("coding", ["gzip", "X-GZip", "zstd", "identity"])
    def test_compressed_bodies_answer_like_plain_ones(self, web: Loopback, path: str, coding: str) -> None:
        plain = b'{"a":"' + b"x" * 1200 + b'"}'
        encoders: dict[str, Callable[[bytes], bytes]] = {"zstd": zstandard.compress, "identity": bytes}
        sent = encoders.get(coding, gzip.compress)(plain)
        assert web.post(sent, path, content_encoding=coding).json() == web.post(plain, path).json()

    @pytest.mark.parametrize(
        ("body", "coding", "status"),
        [
            (b"{}", "br", 415),
            (gzip.compress(zstandard.compress(b"{}")), "zstd, gzip", 415),
            (b"{}", "gzip", 400),
            (gzip.compress(b"{}")[:-2], "gzip", 400),
            (zstandard.compress(b"{}") + b"x", "zstd", 400),
            (zstandard.compress(bytes(50_000_000))[: LIMIT - 1], "zstd", 413),
        ],
    )
    def test_what_cannot_be_decoded_is_refused(self, web: Loopback, body: bytes, coding: str, status: int) -> None:
        code = "request_too_large" if status == 413 else "invalid_request"
        response = web.post(body, content_encoding=coding)
        check_error(response, status, code)
        assert times(response.headers["server-timing"])["parse"] == 0
        assert web.service.seen == []

    def test_two_coding_headers_are_two_codings(self, web: Loopback) -> None:
        response = web.client.post(
            "/v1/classify", content=b"{}", headers=[("content-encoding", "gzip"), ("content-encoding", "gzip")]
        )
        check_error(response, 415)


class TestForms:
    FILES = (("request", (None, b'{"state":"x"}', "application/json")),)
    ASSET = ("asset-0", ("asset-0", b"\x89PNG", "image/png"))

    def test_decisions_read_the_request_part(self, web: Loopback) -> None:
        response = web.client.post("/v1/decisions", files=list(self.FILES))
        assert response.json() == {"surface": "decisions", "body": {"state": "x"}}

    def test_also_inside_a_coding(self, web: Loopback) -> None:
        request = web.client.build_request("POST", "/v1/decisions", files=list(self.FILES))
        headers = {"content-type": request.headers["content-type"], "content-encoding": "zstd"}
        response = web.client.post("/v1/decisions", content=zstandard.compress(request.read()), headers=headers)
        assert response.json()["body"] == {"state": "x"}

    def test_further_parts_go_with_the_request(self, web: Loopback) -> None:
        assert web.client.post("/v1/decisions", files=[*self.FILES, self.ASSET]).status_code == 200
        assert web.service.calls[-1].parts == {"asset-0": b"\x89PNG"}
        check_error(web.client.post("/v1/decisions", files=[self.ASSET, *self.FILES]), 400)

    @pytest.mark.parametrize("path", [endpoint.path for endpoint in Endpoint if not endpoint.reads_forms])
    def test_other_endpoints_read_json_only(self, web: Loopback, path: str) -> None:
        check_error(web.client.post(path, files=list(self.FILES)), 400)


class TestStrictness:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"\xef\xbb\xbf{}",
            b"[NaN]",
            b'"\xed\xa0\x80"',
            b'"\xff"',
            rb'{"state":"\ud800"}',
            rb'{"\ud800":1}',
            b"[" * 1000 + b"]" * 1000,
        ],
    )
    def test_a_malformed_body_is_refused_with_a_timing(self, web: Loopback, body: bytes) -> None:
        response = web.post(body)
        check_error(response, 400)
        found = times(response.headers["server-timing"])
        assert (found["parse"], found["forward"]) == (0, 0)
        assert web.client.get("/health").status_code == 200
        assert web.metrics.calls == [("/v1/classify", 400)]

    def test_escaped_pairs_are_fine(self, web: Loopback) -> None:
        assert web.post(rb'"\ud83d\ude00"').json()["body"] == "😀"


class TestFailures:
    @pytest.mark.parametrize("code", ErrorCode)
    def test_each_code_has_its_status(self, web: Loopback, code: ErrorCode) -> None:
        def refuse(surface: Endpoint, _: Any) -> Any:
            raise RequestFailed(code, f"{surface} said no")

        web.service.reply = refuse
        response = web.post()
        assert check_error(response, STATUS[code], code) == "classify said no"
        times(response.headers["server-timing"])
        assert web.metrics.calls == [("/v1/classify", STATUS[code])]

    def test_an_unforeseen_exception_is_named_and_not_shown(
        self, web: Loopback, caplog: pytest.LogCaptureFixture
    ) -> None:
        nothing: dict[str, Any] = {}
        web.service.reply = lambda *_: nothing["secret"]
        response = web.post()
        assert check_error(response, 500, "internal_error") == "KeyError: 'secret'"
        assert b"Traceback" not in response.content
        assert [record.exc_info is not None for record in caplog.records] == [True]
        assert web.post().status_code == 500

    @pytest.mark.parametrize("number", [math.nan, math.inf])
    def test_a_number_that_is_not_finite_is_an_internal_error(self, web: Loopback, number: float) -> None:
        web.service.reply = lambda *_: {"data": [{"embedding": [0.5, number]}]}
        response = web.post()
        check_error(response, 500, "internal_error")
        times(response.headers["server-timing"])

    def test_an_answer_that_cannot_be_encoded_is_an_internal_error(self, web: Loopback) -> None:
        web.service.reply = lambda *_: {"x": object()}
        check_error(web.post(), 500, "internal_error")

    @pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"{}"])
    def test_a_single_model_that_is_not_ready_refuses_before_the_body(self, web: Loopback, body: bytes) -> None:
        web.service.readiness = RequestFailed(ErrorCode.NOT_READY, "loading")
        for path in (path for path in PATHS if path != "/v1/bundle"):
            response = web.post(body, path)
            check_error(response, 503, "not_ready")
            times(response.headers["server-timing"])
        assert web.client.get("/health").status_code == 503
        assert web.client.get("/health/live").status_code == 200
        assert web.client.get("/v1/models").status_code == 200

    def test_exceptions_of_reads_are_answered_in_the_same_shape(self, web: Loopback) -> None:
        web.service.health = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
        try:
            message = check_error(web.client.get("/health"), 500, "internal_error")
        finally:
            del web.service.health
        assert message == "ZeroDivisionError: division by zero"


class TestTiming:
    @pytest.mark.parametrize("path", PATHS)
    def test_every_answer_of_a_surface_says_its_times(self, web: Loopback, path: str) -> None:
        found = times(web.post(path=path).headers["server-timing"])
        assert found["total"] > 0
        assert found["parse"] > 0

    @pytest.mark.parametrize("path", [*READS, "/unknown", "/v1/classify", "/health/"])
    def test_nothing_else_does(self, web: Loopback, path: str) -> None:
        assert "server-timing" not in web.client.get(path).headers

    def test_the_time_of_a_forward_is_not_the_servers(self, web: Loopback) -> None:
        web.service.hold = threading.Event()
        threading.Timer(0.05, web.service.hold.set).start()
        found = times(web.post().headers["server-timing"])
        assert found["forward"] >= 40
        assert found["total"] >= found["forward"]


class TestRoutes:
    @pytest.mark.parametrize("path", READS)
    def test_head_answers_like_get_without_a_body(self, web: Loopback, path: str) -> None:
        got, headed = web.client.get(path), web.client.head(path)
        assert (headed.status_code, headed.content) == (200, b"")
        for name in ("content-type", "content-length"):
            assert headed.headers[name] == got.headers[name]
        assert headed.headers["x-request-id"] != got.headers["x-request-id"]

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/unknown"),
            ("POST", "/v1/unknown"),
            ("POST", "/v2/rerank"),
            ("POST", "/V1/classify"),
            ("GET", "/HEALTH"),
            ("GET", "/v1/classify/"),
            ("GET", "/health//"),
            ("DELETE", "/v1"),
            ("OPTIONS", "/nowhere"),
        ],
    )
    def test_unknown_paths(self, web: Loopback, method: str, path: str) -> None:
        assert path in check_error(web.client.request(method, path), 404)
        assert web.metrics.calls == []

    @pytest.mark.parametrize("path", [path + "/" for path in PATHS])
    def test_posts_are_never_redirected(self, web: Loopback, path: str) -> None:
        check_error(web.post(path=path), 404)
        assert web.service.seen == []

    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
    def test_a_surface_takes_posts_only(self, web: Loopback, method: str) -> None:
        response = web.client.request(method, "/v1/classify")
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            check_error(response, 405)

    @pytest.mark.parametrize("path", READS)
    def test_reads_take_no_posts(self, web: Loopback, path: str) -> None:
        response = web.post(path=path)
        check_error(response, 405)
        assert response.headers["allow"] == "GET, HEAD"

    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    @pytest.mark.parametrize("path", READS)
    def test_a_slash_behind_a_read_is_redirected(self, web: Loopback, method: str, path: str) -> None:
        response = web.client.request(method, path + "/?a=b")
        assert (response.status_code, response.headers["location"]) == (307, path + "?a=b")
        assert "x-request-id" in response.headers
        assert web.client.request(method, path + "/", follow_redirects=True).status_code == 200

    def test_queries_are_ignored(self, web: Loopback) -> None:
        assert web.post(path="/v1/classify?a=b").status_code == 200
        assert web.client.get("/health?x").status_code == 200


class TestConnections:
    def test_every_response_has_an_id_of_its_own(self, web: Loopback) -> None:
        seen = [web.client.get(path).headers["x-typesafe-request-id"] for path in [*READS, "/unknown", "/v1/rerank"]]
        for body in (b"{}", b"{", b" " * (LIMIT + 1)):
            seen += [web.post(body, path).headers["x-request-id"] for path in PATHS]
        assert len(set(seen)) == len(READS) + 2 + 3 * len(PATHS)

    def test_twenty_calls_on_one_connection_with_errors_between(self, web: Loopback) -> None:
        with web.connection() as connection:
            for index in range(20):
                bad = index % 3 == 1
                connection.send(request_bytes(b"{" if bad else json.dumps({"n": index}).encode()))
                answer = connection.read()
                assert answer.status == (400 if bad else 200)
                assert bad or answer.json()["body"] == {"n": index}

    def test_pipelined_requests_are_answered_in_order(self, web: Loopback) -> None:
        with web.connection() as connection:
            bodies = [b"[1]", b"{", b"[3]", b"[4]"]
            connection.send(b"".join(map(request_bytes, bodies)))
            answers = [connection.read() for _ in bodies]
        assert [answer.status for answer in answers] == [200, 400, 200, 200]
        assert [answer.json()["body"] for answer in (answers[0], *answers[2:])] == [[1], [3], [4]]

    def test_headers_and_body_in_segments(self, web: Loopback) -> None:
        head, body = request_bytes(b'{"a":[1,2,3]}', connection="close").split(b"\r\n\r\n")
        with web.connection() as connection:
            connection.send(head[:20])
            connection.send(head[20:] + b"\r\n\r\n")
            for byte in body:
                connection.send(bytes([byte]))
            answer = connection.read()
            assert (answer.status, answer.json()["body"]) == (200, {"a": [1, 2, 3]})
            assert answer.headers["connection"] == "close"
            assert connection.is_closed()

    @pytest.mark.parametrize("readiness", [None, RequestFailed(ErrorCode.NOT_READY, "loading")])
    def test_closing_clients_that_send_late_read_their_answer(
        self, web: Loopback, readiness: RequestFailed | None
    ) -> None:
        web.service.readiness = readiness
        head, body = request_bytes(b"[1]", connection="close").split(b"\r\n\r\n")
        with web.connection() as connection:
            connection.send(head + b"\r\n\r\n")
            if readiness is None:
                connection.send(body)
                assert connection.read().status == 200
            else:
                assert connection.read().status == 503
                connection.send(body)
            assert connection.is_closed()

    def test_an_expecting_client_is_asked_for_its_body(self, web: Loopback) -> None:
        head, body = request_bytes(b"[1]", expect="100-continue").split(b"\r\n\r\n")
        with web.connection() as connection:
            connection.send(head + b"\r\n\r\n")
            assert connection.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.send(body)
            assert connection.read().json()["body"] == [1]

    def test_old_clients_are_answered_and_closed(self, web: Loopback) -> None:
        with web.connection() as connection:
            connection.send(request_bytes(b"[1]").replace(b"HTTP/1.1", b"HTTP/1.0"))
            assert connection.read().status == 200
            assert connection.is_closed()

    def test_parallel_calls_are_not_mixed(self, web: Loopback) -> None:
        web.service.hold = threading.Event()

        def ask(index: int) -> bool:
            path, body = PATHS[index % len(PATHS)], {"n": index, "text": "x" * index}
            return bool(web.post(json.dumps(body).encode(), path).json()["body"] == body)

        with ThreadPoolExecutor(24) as pool:
            asked = [pool.submit(ask, index) for index in range(24)]
            for _ in asked:
                assert web.service.entered.acquire(timeout=PATIENCE)
            web.service.hold.set()
            assert all(each.result(PATIENCE) for each in asked)

    def test_an_upgrade_is_not_taken_up(self, web: Loopback) -> None:
        with web.connection() as connection:
            connection.send(request_bytes(b"", "/health", "GET", connection="Upgrade", upgrade="websocket"))
            assert connection.read().status == 200


class TestLeavingClients:
    def leave(self, web: Loopback, after: bytes) -> None:
        web.service.hold = threading.Event()
        with web.connection() as connection:
            connection.send(after)
            assert web.service.entered.acquire(timeout=PATIENCE)
        assert web.service.cancelled.acquire(timeout=PATIENCE)

    def test_their_job_is_cancelled_at_once_and_counted(self, web: Loopback) -> None:
        self.leave(web, request_bytes())
        web.metrics.wait_for(("/v1/classify", 499))
        assert web.metrics.calls == [("/v1/classify", 499)]

    def test_others_are_not_disturbed(self, web: Loopback) -> None:
        self.leave(web, request_bytes(path="/v1/rerank"))
        web.metrics.wait_for(("/v1/rerank", 499))
        web.service.hold = None
        assert web.post().status_code == 200

    def test_leaving_while_sending_is_counted(self, web: Loopback) -> None:
        with web.connection() as connection:
            connection.send(request_bytes(b" " * 500)[:-100])
        web.metrics.wait_for(("/v1/classify", 499))
        assert web.service.seen == []

    def test_staying_clients_are_not_cancelled(self, web: Loopback) -> None:
        web.service.hold = threading.Event()
        threading.Timer(0.2, web.service.hold.set).start()
        with web.connection() as connection:
            connection.send(request_bytes(b"[1]"))
            first: Answer = connection.read()
            connection.send(request_bytes(b"[2]"))
            assert [first.json()["body"], connection.read().json()["body"]] == [[1], [2]]
        assert not web.service.cancelled.acquire(timeout=0.05)
