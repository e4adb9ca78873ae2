"""Golden layouts of one token a character, and windows."""

import numpy as np
import pytest

from tests.families.vela2.toy import MARKER_IDS, ids, model, plan
from vela_jax.families.vela2.encoder_layout import window_plan
from vela_jax.families.vela2.encoder_rows import EncoderReading

Q, OPTION, ABS, SEP, USER, ANSWER, E, CONTEXT = (
    MARKER_IDS[name]
    for name in ("[Q]", "[O]", "[ABS]", "[SEP_SCHEMA]", "[SEG_user]", "[SEG_answer]", "[E]", "[SEG_context]")
)
CHOICE = {"type": "choice", "instructions": "c?", "criteria": {"a": "x", "b": None}, "over": "request"}
SPAN = {"type": "span", "instructions": "never read", "criteria": {"L": "l"}, "over": "request"}
STATE = {"request": "hi there", "answer": "ok"}


def reading(*names: str) -> EncoderReading:
    questions = {"c": CHOICE, "s": SPAN}
    (found,) = plan({name: questions[name] for name in names}, STATE).readings
    assert isinstance(found, EncoderReading)
    return found


def test_a_sequence() -> None:
    (row,) = reading("s", "c").rows
    assert row.ids.tolist() == [
        2,
        *(Q, *ids("c?"), OPTION, *ids("a: x"), OPTION, *ids("b"), ABS),
        *(E, *ids("L: l")),
        SEP,
        *(USER, *ids("hi there")),
        *(ANSWER, *ids("ok")),
        1,
    ]


def test_places_to_read() -> None:
    found = reading("c", "s")
    (laid,) = found.sequences
    tokens, marks = laid.row.ids.tolist(), laid.row.marks
    assert marks is not None
    segment, pool, query, labels = marks
    options = found.schema.options["c"].tolist()
    assert [tokens[place] for place in options] == [OPTION, OPTION, ABS]
    assert [tokens[place] for place in query[options]] == [Q, Q, Q]
    assert pool[options].tolist() == [0, 0, 0]
    assert tokens[labels[0]] == E
    start = tokens.index(USER)
    assert np.flatnonzero(segment == 1).tolist() == list(range(start, start + 9))
    assert np.flatnonzero(segment == 3).tolist() == list(range(start + 9, start + 12))
    assert laid.starts == {"user": start + 1, "answer": start + 10}
    assert found.parts.words("user").first.tolist() == [0, 3]
    assert found.parts.words("user").spans.tolist() == [[0, 2], [3, 8]]


@pytest.mark.parametrize(
    ("over", "pool"),
    [
        ("request", 0),
        ("source", 1),
        ("answer", 2),
        (["request", "source"], 3),
        (["source", "answer"], 4),
        (["request", "answer"], 5),
        (None, 5),
    ],
)
def test_the_range_of_parts_that_a_question_reads(over: object, pool: int) -> None:
    state = {"request": "a", "source": "b", "answer": "c"}
    (found,) = plan({"c": {**CHOICE, "over": over}}, state).readings
    assert isinstance(found, EncoderReading)
    (row,) = found.rows
    assert row.marks is not None
    assert set(row.marks[1, found.schema.options["c"]].tolist()) == {pool}


@pytest.mark.parametrize(("labels", "name"), [(0, "0"), (1, "8"), (8, "8"), (9, "32"), (33, "256"), (255, "256")])
def test_a_readout_has_room_for_the_labels(labels: int, name: str) -> None:
    span = {"type": "span", "instructions": "x", "criteria": {f"{n:x}": None for n in range(labels)}}
    (row,) = plan({"q": span} if labels else {"q": CHOICE}, "ab", of=model(2048)).rows
    assert row.readout.name == f"decisions.{name}"
    assert row.readout.per_token


@pytest.mark.parametrize(
    ("total", "kept", "overlap", "expected"),
    [
        (1000, 300, 64, [(0, 300), (236, 536), (472, 772), (708, 1000)]),
        (310, 300, 64, [(0, 300), (236, 310)]),
        (10, 3, 64, [(0, 3), (3, 6), (6, 9), (9, 10)]),
        (5, 1, 0, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]),
        (100, 40, 16, [(0, 40), (30, 70), (60, 100)]),
    ],
)
def test_windows(total: int, kept: int, overlap: int, expected: list[tuple[int, int]]) -> None:
    assert window_plan(total, kept, overlap) == expected
