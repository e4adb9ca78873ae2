"""Which questions share a row, what is cut, what is read in windows, what fails."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.families.vela2.toy import answer, ask, model, plan
from vela_jax.contract import Row
from vela_jax.families.vela2.encoder_rows import EncoderReading
from vela_jax.families.vela2.plan import DecisionsPlan

NOUL: dict[str, Any] = {"type": "noul", "instructions": "n?", "criteria": {"false": "f", "true": "t"}}
SPAN: dict[str, Any] = {"type": "span", "instructions": "s", "criteria": {"L": None}}
CUT: dict[str, Any] = {"overflow": "truncate"}
WHOLE: dict[str, Any] = {"require_full_input": True}
TEXT = "abcdefg " * 40  # 320 tokens
LONG = "abcdefg " * 160  # 1,280: more than four inputs of 256


def readings(planned: DecisionsPlan) -> list[EncoderReading]:
    found = [each for each in planned.readings if isinstance(each, EncoderReading)]
    assert len(found) == len(planned.readings)
    return found


def shared(planned: DecisionsPlan) -> list[tuple[list[str], int]]:
    """Questions and number of sequences of each row."""
    return [([asked.id for asked in each.asked], len(each.rows)) for each in readings(planned)]


def error(planned: DecisionsPlan, key: str) -> str | None:
    found: str | None = answer(planned).body["answers"][key].get("error")
    return found


def test_all_questions_share_a_row_with_the_first_span() -> None:
    planned = plan({"a": SPAN, "n": NOUL, "b": SPAN, "m": NOUL})
    assert shared(planned) == [(["a", "n", "m"], 1), (["b"], 1)]


def test_a_row_is_read_in_windows() -> None:
    planned = plan({"n": NOUL}, TEXT)
    (found,) = readings(planned)
    ranges = [cut.kept["user"] for cut in found.cuts]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 320
    assert all(second[0] == first[1] - 16 for first, second in pairwise(ranges))
    assert all(row.length <= 256 for row in found.rows)
    assert answer(planned).body["usage"]["input_tokens"] == sum(row.length for row in found.rows)


@pytest.mark.parametrize(
    ("questions", "state", "expected"),
    [
        # No single part: cut without a word.
        ({"n": NOUL}, {"request": TEXT, "answer": "x"}, [(["n"], 1)]),
        (
            {"n": {**NOUL, "over": "request"}, "m": {**NOUL, "over": "answer"}},
            {"request": TEXT, "answer": "x"},
            [(["n", "m"], 1)],
        ),
        # The span's part decides.
        ({"n": NOUL, "s": {**SPAN, "over": "request"}}, {"request": TEXT, "answer": "x"}, [(["n", "s"], 2)]),
        # The part that is too long is read by nobody.
        ({"n": {**NOUL, "over": "answer"}}, {"request": TEXT, "answer": "x"}, [(["n"], 1)]),
        # Kinds share a row that needs no windows.
        ({"n": NOUL, "m": {**NOUL, **CUT}}, "short", [(["n", "m"], 1)]),
        ({"n": NOUL, "m": {**NOUL, **CUT}}, TEXT, [(["n"], 2), (["m"], 1)]),
        ({"n": {**NOUL, **CUT}, "s": SPAN, "t": {**SPAN, **CUT}}, TEXT, [(["s"], 2), (["n", "t"], 1)]),
        ({"n": {**NOUL, **CUT}}, LONG, [(["n"], 1)]),
    ],
)
def test_rows_and_windows(questions: dict[str, Any], state: Any, expected: list[tuple[list[str], int]]) -> None:
    assert shared(plan(questions, state)) == expected


def test_truncation_changes_nothing_where_all_fits() -> None:
    questions = {"n": NOUL, "s": SPAN}
    cut = {key: {**question, **CUT} for key, question in questions.items()}
    for one, other in zip(plan(questions).rows, plan(cut).rows, strict=True):
        assert one.content_key() == other.content_key()


def test_the_scan_budget() -> None:
    state = {"request": LONG, "answer": "x"}
    questions = {"n": {**NOUL, "over": "request"}, "m": {**NOUL, "over": "answer"}}
    planned = plan(questions, state)
    assert error(planned, "n") == "scan_budget_exceeded"
    assert error(planned, "m") is None
    assert shared(planned) == [(["m"], 1)]
    assert planned.rows[0].content_key() == plan({"m": questions["m"]}, state).rows[0].content_key()
    assert error(plan(questions, state, max_tokens=2000), "n") is None
    assert error(plan({"n": NOUL}, TEXT, max_tokens=200), "n") == "scan_budget_exceeded"
    assert error(plan({"n": NOUL}, "x" * 240, max_tokens=1), "n") is None  # never below one input
    assert error(plan({"n": {**NOUL, **CUT}, "m": NOUL}, LONG), "n") is None


@pytest.mark.parametrize(("scan", "expected"), [(320, None), (319, "scan_budget_exceeded")])
def test_the_budget_of_the_models_file(scan: int, expected: str | None) -> None:
    assert error(plan({"n": NOUL}, TEXT, of=model(scan=scan)), "n") == expected


def test_a_schema_that_does_not_fit_fails_its_row_only() -> None:
    long = {**NOUL, "instructions": "x" * 300}
    planned = plan({"long": long, "n": NOUL, "s": SPAN, "t": SPAN})
    answers = answer(planned).body["answers"]
    assert [answers[key].get("error") for key in ("long", "n", "s", "t")] == ["max_length_exceeded"] * 3 + [None]
    assert answers["long"]["reason"] == "question_tokens"


@pytest.mark.parametrize(
    ("questions", "state", "expected"),
    [
        ({"n": {**NOUL, **WHOLE}}, "short", None),
        ({"n": {**NOUL, **WHOLE}}, TEXT, None),  # windows hold every token
        ({"n": {**NOUL, **WHOLE, "over": "answer"}}, {"request": TEXT, "answer": "x"}, "max_length_exceeded"),
        ({"n": {**NOUL, **WHOLE}}, {"request": TEXT, "answer": "x"}, "max_length_exceeded"),
        ({"n": {**SPAN, **WHOLE}}, TEXT, None),
        ({"n": {**SPAN, **WHOLE}}, "x" * 400, "max_length_exceeded"),  # a word longer than a window
        ({"n": {**NOUL, **WHOLE}}, "x" * 400, None),
        ({"n": {**SPAN, **WHOLE, "over": "answer"}}, {"request": TEXT, "answer": TEXT}, "max_length_exceeded"),
        ({"n": {**NOUL, **WHOLE, "over": "answer"}}, {"request": LONG, "answer": "x"}, "scan_budget_exceeded"),
    ],
)
def test_what_must_be_read_whole(questions: dict[str, Any], state: Any, expected: str | None) -> None:
    found = answer(plan(questions, state)).body["answers"]["n"]
    assert found.get("error") == expected
    assert found.get("input_coverage") == (None if expected else "complete")


def test_a_strict_question_that_fails_leaves_the_others_as_if_it_had_not_been_asked() -> None:
    state = {"request": TEXT, "answer": "x"}
    planned = plan({"strict": {**NOUL, **WHOLE}, "n": NOUL}, state)
    assert error(planned, "strict") == "max_length_exceeded"
    assert [row.content_key() for row in planned.rows] == [row.content_key() for row in plan({"n": NOUL}, state).rows]


def counting(row: Row) -> NDArray[np.float32]:
    """Option and word logits that grow with the place in the row."""
    values = np.zeros((row.length, 9), np.float32)
    values[:, 0] = row.ids[-2]  # the last token of the part: another one in each window
    values[:, 1] = row.ids
    return values


def test_windows_are_joined() -> None:
    text = "".join(chr(97 + n % 26) + " " for n in range(170))
    planned = plan({"n": NOUL, "t": {**SPAN, "threshold": 0.0}}, text)
    (found,) = readings(planned)
    outputs = [counting(row) for row in planned.rows]
    assert len(outputs) > 1
    logits = found.logits(outputs)
    ends = np.array([row.ids[-2] for row in planned.rows], np.float64)
    joined, spans = logits["n"], logits["t"]
    assert isinstance(joined, np.ndarray)
    assert np.allclose(joined, ends.mean())
    assert not isinstance(spans, np.ndarray)
    assert spans.words.count == 170
    ids = found.parts.tokens["user"].ids[spans.words.first]
    assert np.array_equal(spans.logits[:, 0], ids)  # the same token in every window: its mean


def test_a_set_takes_the_largest_logit_of_all_windows() -> None:
    planned = plan({"n": {"type": "set", "instructions": "n?", "criteria": {"a": None}}}, "a" * 200 + "b" * 150)
    (found,) = readings(planned)
    values = [np.full((row.length, 1), index, np.float32) for index, row in enumerate(planned.rows)]
    assert found.logits(values)["n"] == [len(values) - 1]


def test_words_behind_a_cut_do_not_exist() -> None:
    planned = plan({"s": {**SPAN, **CUT, "threshold": 0.4}}, "ab " * 110)
    (found,) = readings(planned)
    (_, kept) = found.cuts[0].kept["user"]
    body = answer(planned).body
    assert body["spans"]["s"] == [
        {
            "label": "L",
            "start": 0,
            "end": pytest.approx(kept, abs=2),
            "text": body["spans"]["s"][0]["text"],
            "probability": 0.5,
        }
    ]


def test_a_row_that_came_too_late_fails_alone() -> None:
    planned = plan({"n": NOUL, "s": SPAN, "t": SPAN})
    body = answer(planned, late=frozenset({1})).body
    assert [answer_.get("error") for answer_ in body["answers"].values()] == [None, None, "deadline_exceeded"]
    assert body["usage"]["input_tokens"] == planned.rows[0].length
    nothing = answer(planned, late=frozenset({0, 1})).body
    assert nothing["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert {answer_["error"] for answer_ in nothing["answers"].values()} == {"deadline_exceeded"}


def test_a_text_without_tokens_of_its_own_words() -> None:
    assert ask({"s": SPAN}, "\u200b x")["spans"]["s"] == []
