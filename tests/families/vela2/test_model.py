"""The model as the server sees it: its card, limits, refusals, and large requests."""

import time
from typing import Any

import numpy as np
import pytest

from tests.families.vela2.toy import answer, ask, model, plan, zeros
from vela_jax.contract import InputRefused, InvalidRequest, Surface, UnsupportedSurface
from vela_jax.families.vela2 import encoder_rows
from vela_jax.surfaces.requests import Image

NOUL: dict[str, Any] = {"type": "noul", "instructions": "n?"}


@pytest.mark.parametrize(
    ("platform", "scan", "limits"),
    [("cpu", None, (1024, 256)), ("gpu", None, (8192, 8192)), ("cpu", 700, (700, 256)), ("gpu", 700, (700, 700))],
)
def test_the_card(platform: str, scan: int | None, limits: tuple[int, int]) -> None:
    card = model(scan=scan, platform=platform).describe()
    assert (card.limits["max_scan_tokens"], card.limits["truncate_tokens"]) == limits
    assert card.limits["max_input_tokens"] == 256
    bounds = {"min_options": 2, "max_options": 255, "min_levels": 2, "max_levels": 10, "max_labels": 255}
    assert card.limits.items() >= bounds.items()
    assert card.question_types == ["choice", "noul", "score", "set", "span"]
    assert card.presets == ["pii", "halu", "relevance"]
    assert (card.family, card.surfaces, card.dtype) == ("vela2", [Surface.DECISIONS], "fp32")


@pytest.mark.parametrize("surface", [Surface.CLASSIFY, Surface.EMBEDDINGS, Surface.RERANK])
def test_other_surfaces_are_not_served(surface: Surface) -> None:
    with pytest.raises(UnsupportedSurface, match=r"\['decisions'\]"):
        model().plan(surface, None)


@pytest.mark.parametrize(
    ("questions", "options", "says"),
    [
        ({}, {}, "at least one question"),
        ({" ": NOUL}, {}, "blank question ID"),
        ({"n": NOUL}, {"max_tokens": 0}, "options.max_tokens must be at least 1"),
    ],
)
def test_requests_without_sense(questions: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        plan(questions, **options)


def test_images_are_refused() -> None:
    with pytest.raises(InputRefused, match="images are not supported"):
        plan({"n": NOUL}, images=(Image(b"", 1, 1),))


def test_a_request_without_a_valid_question_reads_nothing() -> None:
    planned = plan({"a": 3, "b": {"type": "rank"}})
    assert planned.rows == []
    body = answer(planned).body
    assert [entry["error"] for entry in body["answers"].values()] == ["invalid_question"] * 2
    assert body["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_answers_keep_the_order_of_the_questions() -> None:
    kind = {"type": "set", "instructions": "x", "criteria": {"b": None, "a": None}}
    asked = {"z": NOUL, "s": kind, "bad": 1, "p": {"preset": "halu"}, "a": NOUL}
    found = answer(plan(asked))
    assert list(found.body["answers"]) == ["z", "s.b", "s.a", "bad", "p", "a"]
    assert list(found.body["sets"]["s"]["probabilities"]) == ["b", "a"]
    assert list(found.body["thresholds"]) == ["s", "p"]
    kinds = [kind for kind, _ in found.question_outcomes]
    assert kinds == ["noul", "noul", "noul", "None", "noul", "noul"]


@pytest.mark.parametrize("kind", ["choice", "set", "span"])
def test_255_options(kind: str) -> None:
    criteria = {f"{n:x}": None for n in range(255)}
    threshold = {} if kind == "choice" else {"threshold": 0.9}
    question = {"type": kind, "instructions": "x", "criteria": criteria, **threshold}
    planned = plan({"q": question}, of=model(2048))
    values = [zeros(row) for row in planned.rows]
    values[0][:, -1] = 9  # the last column of a span's readout is no label of these
    body = planned.assemble(values).body
    assert not body["answers"].get("q", {}).get("error")
    if kind == "choice":
        assert list(body["answers"]["q"]["probabilities"]) == list(criteria)


def test_a_thousand_questions_fail_together_where_they_do_not_fit() -> None:
    body = ask({str(n): NOUL for n in range(1000)})
    assert {entry["error"] for entry in body["answers"].values()} == {"max_length_exceeded"}


def test_a_thousand_spans_are_read_one_a_row() -> None:
    spans = {str(n): {"type": "span", "instructions": "x", "criteria": {"L": None}} for n in range(1000)}
    started = time.process_time()
    planned = plan(spans, "abc def " * 20)
    assert len(planned.rows) == 1000
    assert len({row.content_key() for row in planned.rows}) == 1  # and run once
    assert len(planned.assemble([zeros(planned.rows[0])] * 1000).body["spans"]) == 1000
    assert time.process_time() - started < 20


def test_a_request_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_rows, "MAX_SIZE", 20_000)
    spans = {str(n): {"type": "span", "instructions": "x", "criteria": {"L": None}} for n in range(5)}
    with pytest.raises(InvalidRequest, match="too large in all"):
        plan(spans, "x" * 240)
    assert len(plan({"0": spans["0"]}, "x" * 240).rows) == 1


def test_results_are_never_changed() -> None:
    planned = plan({"n": NOUL, "s": {"preset": "halu"}}, "abc " * 100)
    values = [zeros(row) for row in planned.rows]
    for value in values:
        value.setflags(write=False)
    assert planned.assemble(values).body == planned.assemble([np.array(value) for value in values]).body
