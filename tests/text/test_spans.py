"""Entities from BIO labels, and runs of passing tokens."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.text.designs import tokenizer_of
from vela_jax.text.spans import WHITE_SPACE, Span, decode_bio, decode_runs, trim
from vela_jax.text.windows import owners, windows

LABELS = ("O", "B-PERSON", "I-PERSON", "B-EMAIL", "I-EMAIL", "X")
TEXT = "Hi Tom Baker tom@x.io ok"
OFFSETS = ((0, 2), (2, 6), (6, 12), (12, 16), (16, 21), (21, 24))


def decode(
    tags: str,
    offsets: tuple[tuple[int, int], ...] = OFFSETS,
    text: str = TEXT,
    p: tuple[float, ...] | None = None,
    skip_empty: bool = True,
) -> list[Span]:
    label_ids = np.array([LABELS.index(tag) for tag in tags.split()], dtype=np.int64)
    probabilities = np.array(p or (0.9,) * len(label_ids))
    return decode_bio(LABELS, label_ids, probabilities, np.array(offsets, np.int32), text, skip_empty=skip_empty)


def test_the_example_of_the_format() -> None:
    spans = decode("O B-PERSON I-PERSON I-EMAIL I-EMAIL O", p=(0.9, 0.9, 0.7, 0.9, 0.9, 0.9))
    assert [(span.label, span.start, span.end) for span in spans] == [("PERSON", 3, 12), ("EMAIL", 13, 21)]
    assert [span.probability for span in spans] == pytest.approx([0.8, 0.9])
    assert [TEXT[span.start : span.end] for span in spans] == ["Tom Baker", "tom@x.io"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O O O O O O", []),
        ("B-PERSON I-EMAIL O O O O", [("PERSON", 0, 2), ("EMAIL", 3, 6)]),
        ("B-PERSON B-PERSON O O O O", [("PERSON", 0, 2), ("PERSON", 3, 6)]),
        ("I-PERSON I-PERSON O O O O", [("PERSON", 0, 6)]),
        ("B-PERSON O I-PERSON O O O", [("PERSON", 0, 2), ("PERSON", 7, 12)]),
        ("B-PERSON X I-PERSON O O O", [("PERSON", 0, 2), ("PERSON", 7, 12)]),
        ("O O O O B-EMAIL I-EMAIL", [("EMAIL", 16, 24)]),
    ],
)
def test_opening_extending_closing(tags: str, expected: list[tuple[str, int, int]]) -> None:
    assert [(span.label, span.start, span.end) for span in decode(tags)] == expected


def test_the_probability_is_the_running_mean_in_double() -> None:
    values = (0.1, 0.7, 0.25, 0.9, 0.3, 0.6)
    (span,) = decode("B-PERSON " + "I-PERSON " * 5, p=values)
    mean = 0.0
    for k, value in enumerate(values, 1):
        mean += (value - mean) / k
    assert span.probability == mean


def test_the_end_is_the_last_tokens() -> None:
    (span,) = decode("B-PERSON I-PERSON", offsets=((3, 12), (3, 6)))
    assert (span.start, span.end) == (3, 6)


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        (" \tTom\n", 0, 6, (2, 5)),
        ("\x1cTom", 0, 4, (0, 4)),
        ("   ", 0, 3, (0, 3)),
        ("ab cd ef", 2, 6, (3, 5)),
        ("\u3000\u00a0\u2003Tom\u2028", 0, 7, (3, 6)),
        ("\u200bTom\ufeff", 0, 5, (0, 5)),
        ("", 0, 0, (0, 0)),
    ],
)
def test_trim(text: str, start: int, end: int, expected: tuple[int, int]) -> None:
    assert trim(text, start, end) == expected


def test_the_trim_set_is_the_white_space_property() -> None:
    separators = {chr(code) for code in range(0x3001) if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp")}
    assert set(WHITE_SPACE) == separators | set("\t\n\v\f\r\u0085")


def test_an_all_white_span_stays_and_an_empty_one_goes() -> None:
    offsets = ((0, 3), (3, 3), (5, 4))
    assert decode("B-PERSON B-EMAIL B-EMAIL", offsets, "   x yz") == [Span("PERSON", 0, 3, 0.9)]


def test_empty_tokens_at_the_start_are_left_out_on_demand() -> None:
    tags, offsets = "B-PERSON O I-PERSON", ((0, 3), (0, 0), (3, 6))
    text = "TomBob"
    assert [(span.start, span.end) for span in decode(tags, offsets, text)] == [(0, 6)]
    kept = decode(tags, offsets, text, skip_empty=False)
    assert [(span.start, span.end) for span in kept] == [(0, 3), (3, 6)]


def test_no_tokens_no_spans() -> None:
    assert decode("", ()) == []
    assert runs([], []) == []


def test_characters_of_a_telephone_number_after_japanese_and_at_the_start() -> None:
    tokenizer = tokenizer_of("metaspace")
    text = "090-1234-5678 ご予約のお電話はこちらまでどうぞ: 090-1234-5678"
    second = text.rindex("090")
    offsets = tokenizer.encode(text).offsets
    inside = ((offsets[:, 1] <= 13) | (offsets[:, 0] >= second)).astype(np.int64)
    label_ids = np.where(inside == 1, LABELS.index("I-PERSON"), 0)
    spans = decode_bio(LABELS, label_ids, np.ones(len(offsets)), offsets, text, skip_empty=True)
    assert [(span.start, span.end) for span in spans] == [(0, 13), (second, len(text))]


def test_windows_give_each_entity_once() -> None:
    tokenizer = tokenizer_of("metaspace")
    text = (
        "some words that say little " * 4 + "tom@x.io " + "more words to come " * 5 + "bob@y.io" + " the end of it" * 3
    )
    encoded = tokenizer.encode(text)
    is_entity = np.zeros(encoded.count, bool)
    for mail in ("tom@x.io", "bob@y.io"):
        start = text.index(mail)
        is_entity |= (encoded.offsets[:, 0] < start + len(mail)) & (encoded.offsets[:, 1] > start)
    whole = np.where(is_entity, LABELS.index("I-EMAIL"), 0)
    parts = windows(encoded.count, 34, 16, 2)
    assert len(parts) > 3
    owner = owners(parts, encoded.count)
    joined = np.array([whole[parts[owner[t]].start :][t - parts[owner[t]].start] for t in range(encoded.count)])
    spans = decode_bio(LABELS, joined, np.ones(encoded.count), encoded.offsets, text, skip_empty=False)
    assert [text[span.start : span.end] for span in spans] == ["tom@x.io", "bob@y.io"]


def runs(p: list[float], offsets: list[tuple[int, int]], threshold: float = 0.5, strict: bool = True) -> list[Span]:
    pairs: NDArray[np.int32] = np.array(offsets, np.int32).reshape(-1, 2)
    return decode_runs(np.array(p), pairs, threshold, strict=strict, label="hallucinated")


def test_runs_of_the_example() -> None:
    found = runs([0.9, 0.1, 0.6, 0.4, 0.8], [(0, 3), (3, 3), (3, 7), (7, 9), (9, 12)])
    assert found == [Span("hallucinated", 0, 7, 0.9), Span("hallucinated", 9, 12, 0.8)]


@pytest.mark.parametrize(("strict", "count"), [(True, 0), (False, 1)])
def test_a_probability_equal_to_the_threshold(strict: bool, count: int) -> None:
    assert len(runs([0.5], [(0, 3)], strict=strict)) == count


def test_a_run_reaches_to_its_largest_end() -> None:
    assert runs([0.6, 0.7, 0.1], [(0, 9), (2, 5), (9, 12)]) == [Span("hallucinated", 0, 9, 0.7)]


def test_an_empty_token_does_not_open_a_run() -> None:
    assert runs([0.9, 0.2], [(3, 3), (3, 5)]) == []


def test_single_precision_is_compared_in_double() -> None:
    values = np.array([0.7], np.float32)  # lies just below 0.7
    offsets = np.array([[0, 1]], np.int32)
    assert decode_runs(values, offsets, 0.7, strict=False, label="x") == []
    assert len(decode_runs(values, offsets, 0.6999, strict=False, label="x")) == 1
