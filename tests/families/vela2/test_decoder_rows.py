"""Which questions share a tree, what is cut, what is read in windows, what fails, and how logits are put together."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.families.vela2.toy import CALIBRATION, CHARACTERS, FIRST, answer, tokenizer
from vela_jax.contract import Row, Surface
from vela_jax.families.vela2.calibration import BroadHead
from vela_jax.families.vela2.decoder_layout import SpanLayout
from vela_jax.families.vela2.decoder_model import DecoderModel
from vela_jax.families.vela2.decoder_rows import DecoderReading, SpanRows
from vela_jax.families.vela2.plan import DecisionsPlan
from vela_jax.families.vela2.spec import DecoderSpec
from vela_jax.heads.spans import SpanConfig
from vela_jax.surfaces.requests import DecisionsRequest

LIMIT = 1000
NOUL: dict[str, Any] = {"type": "noul", "instructions": "n?", "criteria": {"false": "f", "true": "t"}}
SET: dict[str, Any] = {"type": "set", "instructions": "s?", "criteria": {"a": "x", "b": "y"}}
SPAN: dict[str, Any] = {"type": "span", "instructions": "p", "criteria": {"L": None, "M": "m"}}
CUT: dict[str, Any] = {"overflow": "truncate"}
WHOLE: dict[str, Any] = {"require_full_input": True}
LONG = "abcdefg " * 20  # 160 tokens, windows of 40
CONFIG = SpanConfig(8, 4)
SPEC = DecoderSpec(
    head_dim=8,
    span_head=CONFIG,
    broad_head=None,
    spans=SpanLayout(48, 40, 32),
    max_length=LIMIT,
    calibration=CALIBRATION,
)
BROAD = BroadHead(0.8, 0.7, None)
MODEL = DecoderModel(SPEC, tokenizer(), 6, 1000, "cpu")
WITH_BROAD = DecoderModel(
    replace(SPEC, broad_head=CONFIG, calibration=replace(CALIBRATION, broad=BROAD)), tokenizer(), 6, 1000, "cpu"
)


def plan(questions: dict[str, Any], state: Any = "hi there", of: DecoderModel = MODEL) -> DecisionsPlan:
    return of.plan(Surface.DECISIONS, DecisionsRequest(state=state, questions=questions))


def readings(planned: DecisionsPlan) -> list[DecoderReading]:
    found = [each for each in planned.readings if isinstance(each, DecoderReading)]
    assert len(found) == len(planned.readings)
    return found


def shared(planned: DecisionsPlan) -> list[list[str]]:
    return [[asked.id for asked in each.asked] for each in readings(planned)]


def text(ids: NDArray[np.int32]) -> str:
    return "".join(CHARACTERS[token - FIRST] for token in ids)


def state(row: Row) -> str:
    assert row.prefix is not None
    return text(row.prefix.ids)


def zeros(row: Row) -> NDArray[np.float32]:
    """A readout that is indifferent to everything."""
    width = row.readout.name.partition(".")[2]
    return np.zeros((row.length, int(width)) if width else row.length, np.float32)


def body(planned: DecisionsPlan) -> dict[str, Any]:
    return answer(planned, zeros).body


def error(planned: DecisionsPlan, key: str) -> str | None:
    found: str | None = body(planned)["answers"][key].get("error")
    return found


def test_all_questions_share_a_tree_with_the_first_span() -> None:
    planned = plan({"a": SPAN, "n": NOUL, "b": SPAN, "s": SET})
    assert shared(planned) == [["a", "n", "s"], ["b"]]
    assert len(planned.rows) == 4


def test_the_usage_counts_the_prefix_of_a_tree_once() -> None:
    planned = plan({"n": NOUL, "s": SET})
    for row in planned.rows:
        assert state(row) == 'Context:\n<segment role="user">\nhi there\n</segment>\n'
    total = sum(row.length for row in planned.rows)
    assert body(planned)["usage"]["input_tokens"] == total + len(state(planned.rows[0]))


def test_a_question_does_not_depend_on_the_others() -> None:
    alone, beside = plan({"s": SET}), plan({"n": NOUL, "s": SET})
    assert alone.rows[0].content_key() == beside.rows[1].content_key() != beside.rows[0].content_key()


def test_options_are_read_at_their_ends() -> None:
    planned = plan({"s": SET})
    (row,) = planned.rows
    assert row.readout.name == "set"

    def judge(row: Row) -> NDArray[np.float32]:
        ends = np.zeros(row.length, np.float32)
        ends[text(row.ids).index('"a"}\n</option>') + len('"a"}\n</option>') - 1] = 3
        return ends

    probabilities = answer(planned, judge).body["sets"]["s"]["probabilities"]
    assert probabilities["a"] == pytest.approx(1 / (1 + np.exp(-3 / 1.05)))
    assert probabilities["b"] == 0.5


def test_a_short_target_is_repeated_and_read_at_its_words() -> None:
    planned = plan({"p": SPAN}, "Tom is in")
    (row,) = planned.rows
    assert row.marks is not None
    place = text(row.ids).rindex("Tom is in")
    assert np.flatnonzero(row.marks[0]).tolist() == [place, place + 4, place + 7]
    for number, shown in ((1, '{"description":"","key":"L"}'), (2, '{"description":"m","key":"M"}')):
        tokens = np.flatnonzero(row.marks[1] == number)
        assert shown in text(row.ids)[tokens[0] : tokens[-1] + 1]
    assert not row.marks[2].any()

    def judge(row: Row) -> NDArray[np.float32]:
        logits = np.full((row.length, 8), -5, np.float32)
        logits[place + 4, 1] = 4
        return logits

    assert answer(planned, judge).body["spans"]["p"][0] | {"probability": 1} == {
        "label": "M",
        "start": 4,
        "end": 6,
        "text": "is",
        "probability": 1,
    }


def test_a_long_target_is_read_in_windows() -> None:
    planned = plan({"p": SPAN, "n": NOUL}, LONG)
    (reading,) = readings(planned)
    span = reading.questions[0]
    assert isinstance(span, SpanRows)
    assert [(target.start, target.end) for target in span.targets] == [
        (0, 32),
        (32, 64),
        (64, 96),
        (96, 128),
        (128, 160),
    ]
    for target in span.targets:
        for shown in (state(target.row), text(target.row.ids)):
            assert LONG[target.start : target.end] in shown
            assert LONG[: target.end - target.start + 8] not in shown
    prefix = len('Context:\n<segment role="user">\n\n</segment>\n') + len(LONG)
    (noul,) = reading.questions[1].rows
    repeat = f'\n\nText:\n<segment role="user">\n{LONG[:32]}\n</segment>\n'
    block = text(span.targets[0].row.ids).replace(repeat, "")
    windows = sum(target.row.length + len(state(target.row)) for target in span.targets)
    assert body(planned)["usage"]["input_tokens"] == prefix + noul.length + len(block) + windows


@pytest.mark.parametrize(("length", "windows"), [(48, 1), (49, 2)])
def test_the_edge_of_repetition(length: int, windows: int) -> None:
    assert len(plan({"p": SPAN}, ("abc " * 20)[:length]).rows) == windows


def test_a_long_part_is_cut_for_questions_without_windows() -> None:
    planned = plan({"n": NOUL}, "x" * 2000)
    (row,) = planned.rows
    assert row.length + len(state(row)) <= LIMIT
    assert error(planned, "n") is None
    assert error(plan({"n": NOUL | WHOLE, "m": NOUL}, "x" * 2000), "n") == "max_length_exceeded"
    assert error(plan({"n": NOUL | WHOLE, "m": NOUL}, "x" * 2000), "m") is None


def test_a_whole_target_in_windows() -> None:
    planned = plan({"n": NOUL | WHOLE, "m": NOUL, "p": SPAN | WHOLE}, "abcdefg " * 180)
    assert error(planned, "n") == "max_length_exceeded"
    assert error(planned, "m") is None
    assert body(planned)["answers"]["p"]["input_coverage"] == "complete"


@pytest.mark.parametrize("state", [" " * 60 + LONG, "a" * 200, {"answer": LONG, "source": "y" * 1500}])
def test_a_target_that_windows_do_not_hold_whole(state: Any) -> None:
    assert error(plan({"p": SPAN | WHOLE}, state), "p") == "max_length_exceeded"
    assert error(plan({"p": SPAN}, state), "p") is None


def test_kinds_are_kept_apart_where_a_span_is_read_in_windows() -> None:
    questions = {"p": SPAN, "n": NOUL | CUT}
    assert shared(plan(questions)) == [["p", "n"]]
    assert shared(plan(questions, LONG)) == [["p"], ["n"]]


def test_beyond_the_scan_budget() -> None:
    planned = plan({"n": NOUL, "c": NOUL | CUT, "p": SPAN}, "x" * (4 * LIMIT + 1))
    assert [error(planned, key) for key in "ncp"] == ["scan_budget_exceeded", None, "scan_budget_exceeded"]


@pytest.mark.parametrize("kind", [NOUL, SPAN])
def test_a_question_that_does_not_fit(kind: dict[str, Any]) -> None:
    planned = plan({"q": kind | {"instructions": "why " * 400}, "m": SET | {"over": "request"}}, {"request": "hi"})
    assert error(planned, "q") == "max_length_exceeded"


def test_heads_and_their_readouts() -> None:
    planned = plan({"p": SPAN, "t": SPAN | {"criteria": {"Hallucinated": None}}}, of=WITH_BROAD)
    assert [row.readout.name for row in planned.rows] == ["broad.8", "router.8"]
    first, second = (row.marks for row in planned.rows)
    assert first is not None
    assert second is not None
    assert (first[1].any(), first[2].any()) == (False, True)
    assert (second[1].any(), second[2].any()) == (True, False)
    assert '"key":"unsupported"' in text(planned.rows[1].ids)
    found = body(planned)
    assert found["span_heads"] == {"p": "broad", "t": "router"}
    assert found["thresholds"] == {"p": 0.7, "t": 0.5}


def test_a_model_with_one_head_names_none() -> None:
    found = body(plan({"p": SPAN}))
    assert "span_heads" not in found
    assert error(plan({"p": SPAN | {"head": "broad"}, "n": NOUL}), "p") == "invalid_question"
