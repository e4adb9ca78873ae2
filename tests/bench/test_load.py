"""Closed loops: arithmetic, and requests against a real server."""

from __future__ import annotations

import json

import pytest

from bench.load import COLUMNS, PHASES, Call, measure, read_phases, send_all, summarize
from bench.process import Server
from bench.workload import Mix, requests

PARTS = dict.fromkeys(PHASES, 1.0)


def test_phases_are_read_from_the_header() -> None:
    header = "parse;dur=0.100, tokenize;dur=0.200, queue;dur=0.000, forward;dur=3.500, post;dur=0.1, total;dur=4.000"
    assert read_phases(header)["forward"] == 3.5
    assert list(read_phases(header)) == ["parse", "tokenize", "queue", "forward", "post", "total"]
    assert read_phases("") == {}


def test_overhead_is_what_is_not_the_forward() -> None:
    summary = summarize([Call(9.0, {**PARTS, "total": 5.0}), Call(7.0, {**PARTS, "total": 3.0})], 2, 0.5)
    assert summary.rate == 4.0
    assert summary.percentiles["overhead"] == {0.5: 2.0, 0.95: 4.0, 0.99: 4.0}
    assert summary.percentiles["own work"] == {0.5: 1.0, 0.95: 3.0, 0.99: 3.0}  # a millisecond of it was the queue
    assert summary.percentiles["wall"][0.5] == 7.0


def test_a_server_without_phases_has_walls_only() -> None:
    assert summarize([Call(9.0, {})], 1, 1.0).percentiles.keys() == {"wall"}


@pytest.mark.parametrize("callers", [1, 3])
def test_every_surface_of_every_model_answers(server: Server, callers: int) -> None:
    for card in server.cards():
        for surface in card["surfaces"]:
            found = measure(server.url, requests(card, surface, 6, Mix(5, 5)), callers)
            assert found.calls == 6
            assert found.percentiles.keys() == set(COLUMNS)
            assert found.percentiles["total"][0.5] <= found.percentiles["wall"][0.99]


def test_answers_come_in_the_order_of_the_requests(server: Server) -> None:
    bodies = [{"model": "embedding", "input": ["word " * words]} for words in (9, 1, 5, 3)]
    sent = [("/v1/embeddings", json.dumps(body).encode()) for body in bodies]
    calls, seconds = send_all(server.url, sent, 4, keep=True)
    counts = [json.loads(call.answer)["usage"]["prompt_tokens"] for call in calls]
    assert counts == [11, 3, 7, 5]
    assert seconds > 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"input": "x", "model": "nobody"}, "answered 404"),
        ({"input": ["a b c d"], "model": "embedding", "options": {"max_tokens": 3}}, "max_length_exceeded"),
    ],
)
def test_a_failing_call_or_item_ends_the_measurement(server: Server, body: dict[str, object], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        measure(server.url, [("/v1/embeddings", json.dumps(body).encode())], 1)
