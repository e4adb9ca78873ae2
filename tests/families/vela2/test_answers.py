"""Answers of given logits."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.families.vela2.toy import CALIBRATION
from vela_jax.families.vela2.answers import Answerer, Body, SpanLogits, sigmoid
from vela_jax.families.vela2.parts import Field
from vela_jax.families.vela2.questions import Asked
from vela_jax.families.vela2.words import Words, units

ANSWERER = Answerer(CALIBRATION)


def asked(kind: str, *names: str, **members: Any) -> Asked:
    options = tuple((name, "") for name in names)
    return Asked(id="q", kind=kind, text="?", options=options, roles=("user",), key="q", **members)


def answer(question: Asked, *logits: float, by: Answerer = ANSWERER) -> Body:
    body = Body()
    by.answer(body, question, np.array(logits))
    return body


def span(question: Asked, text: str, *logits: float, tokens: int = 10) -> Body:
    words = np.array(list(units(text)), np.int32).reshape(-1, 2)
    found = SpanLogits(text, Words(words, np.arange(len(words), dtype=np.int32)), np.array(logits)[:, None], tokens)
    body = Body()
    ANSWERER.answer(body, question, found)
    return body


def test_a_choice() -> None:
    found = answer(asked("choice", "a", "b", "c"), 2.0, 0.5, -1.0, 0.3).answers["q"]
    assert list(found) == ["type", "choice", "confidence", "probabilities", "abstain_probability"]
    assert (found["type"], found["choice"]) == ("choice", "a")
    assert list(found["probabilities"].values()) == pytest.approx(
        [0.7067578071182614, 0.22292644838226955, 0.07031574449946904], rel=1e-12
    )
    assert found["confidence"] == pytest.approx(0.48383135873599187, rel=1e-12)
    assert found["abstain_probability"] == pytest.approx(0.16046672076465215, rel=1e-12)


def test_the_first_of_equal_options() -> None:
    found = answer(asked("choice", "a", "b"), 1.0, 1.0, 9.0).answers["q"]
    assert (found["choice"], found["confidence"]) == ("a", 0.0)


def test_a_noul() -> None:
    question = asked("noul", "no", "yes")
    assert answer(question, -0.4, 1.2, 0.1).answers["q"] == {"type": "noul", "noul": pytest.approx(0.7739531792866866)}
    plain = answer(question, -0.4, 1.2, float("nan")).answers["q"]["noul"]
    fitted = answer(question, -0.4, 1.2, 0.1, by=Answerer(CALIBRATION, fits_nouls=True)).answers["q"]["noul"]
    assert CALIBRATION.noul is not None
    assert fitted == CALIBRATION.noul.apply(plain)
    assert answer(question, 1.0, 2.0, 0.0, by=Answerer(replace(CALIBRATION, noul=None), fits_nouls=True)).answers


def test_a_score() -> None:
    found = answer(asked("score", "a", "b", "a", legend=("a", "b", "a")), 0.2, 1.5, -0.7).answers["q"]
    assert list(found) == ["type", "score", "confidence", "legend", "probabilities"]
    assert found["score"] == pytest.approx(0.8811521235937017, rel=1e-12)
    assert found["confidence"] == pytest.approx(0.5613688600233726, rel=1e-12)
    assert found["legend"] == {"0": "a", "1": "b", "2": "a"}
    assert list(found["probabilities"]) == ["0", "1", "2"]
    other = answer(asked("score", "a", "b", "a", legend=("a", "b", "a")), 0.4, -1.0, 1.6).answers["q"]
    assert other["score"] == pytest.approx(1.4644016558657853, rel=1e-12)


def test_a_set() -> None:
    body = answer(asked("set", "a", "b"), 1.4, -2.0)
    first, second = 0.791391472673955, 0.12957046939970593
    assert body.answers == {
        "q.a": {"type": "noul", "noul": pytest.approx(first, rel=1e-12)},
        "q.b": {"type": "noul", "noul": pytest.approx(second, rel=1e-12)},
    }
    assert body.sets["q"]["selected"] == ["a"]
    assert body.thresholds == {"q": 0.3}


@pytest.mark.parametrize(("threshold", "selected"), [(0.5, ["a"]), (np.nextafter(0.5, 1), [])])
def test_a_label_that_reaches_its_threshold_is_selected(threshold: float, selected: list[str]) -> None:
    assert answer(asked("set", "a", threshold=threshold), 0.0).sets["q"]["selected"] == selected


def test_a_span() -> None:
    body = span(asked("span", "MAIL"), "mail tom.b@ex.com now", -5.0, 4.0, -5.0)
    noul = body.answers["q"]["noul"]
    assert noul == pytest.approx(0.9999546021312976, rel=1e-12)
    entry = {"label": "MAIL", "start": 5, "end": 17, "text": "tom.b@ex.com", "probability": float(np.float32(noul))}
    assert body.spans == {"q": [entry]}
    assert body.thresholds == {"q": 0.5}


def test_a_span_over_a_field_counts_from_its_start() -> None:
    text = "x:\nab cd\n\ny:\nef gh"
    question = asked("span", "L", clip=Field("user", 13, 18), threshold=0.5)
    body = span(question, text, 9.0, 9.0, 3.0, -3.0, 2.0, -9.0, 1.0, -1.0)
    assert body.spans["q"] == [
        {"label": "L", "start": 0, "end": 2, "text": "ef", "probability": pytest.approx(float(sigmoid(np.array(2.5))))}
    ]
    assert body.answers["q"]["noul"] == pytest.approx(float(sigmoid(np.array(2.5))))


def test_a_text_without_words() -> None:
    body = Body()
    empty = Words(np.zeros((0, 2), np.int32), np.zeros(0, np.int32))
    ANSWERER.answer(body, asked("span", "AGE"), SpanLogits(" ", empty, np.zeros((0, 1)), 1))
    assert (body.answers["q"], body.spans["q"]) == ({"type": "noul", "noul": 0.0}, [])


@pytest.mark.parametrize(
    ("kind", "logits"),
    [
        ("choice", (np.nan, 1, 1)),
        ("choice", (1, 1, np.inf)),
        ("noul", (1, np.nan, 0)),
        ("score", (np.inf, 0)),
        ("set", (0, np.nan)),
    ],
)
def test_logits_that_are_not_finite(kind: str, logits: tuple[float, ...]) -> None:
    body = answer(asked(kind, "a", "b", legend=("a", "b")), *logits)
    assert body.answers == {"q": {"type": kind, "error": "invalid_model_output"}}
    assert body.to_json(3) == {"answers": body.answers, "usage": {"input_tokens": 3, "output_tokens": 0}}


def test_what_was_read_whole_is_said_everywhere() -> None:
    whole = {"input_coverage": "complete"}
    assert answer(asked("noul", "no", "yes", full=True), 0, 0, 0).answers["q"].items() >= whole.items()
    body = answer(asked("set", "a", full=True), 0.0)
    assert body.answers["q.a"].items() >= whole.items()
    assert body.sets["q"].items() >= whole.items()


def test_members_in_the_order_of_the_contract() -> None:
    body = answer(asked("set", "a"), 0.0)
    ANSWERER.answer(
        body,
        replace(asked("span", "L"), id="s"),
        SpanLogits("x", Words(np.array([[0, 1]], np.int32), np.zeros(1, np.int32)), np.zeros((1, 1)), 1),
    )
    assert list(body.to_json(1)) == ["answers", "usage", "spans", "sets", "thresholds"]


def test_extreme_logits_do_not_overflow() -> None:
    assert sigmoid(np.array([-1e30, 0.0, 1e30])).tolist() == [0.0, 0.5, 1.0]
    found = answer(asked("choice", "a", "b"), 1e30, -1e30, 0.0).answers["q"]
    assert found["probabilities"] == {"a": 1.0, "b": 0.0}
