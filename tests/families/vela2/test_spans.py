"""Decoding of word probabilities."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.families.vela2.spans import Found, clip, decode, trim
from vela_jax.families.vela2.words import CJK, units


def spans_of(text: str, rows: list[list[float]], threshold: float = 0.5) -> list[tuple[int, int, int]]:
    words = np.array(list(units(text)), np.int32)
    return [(found.label, found.start, found.end) for found in decode(np.array(rows), words, text, threshold)]


def test_neighbours_of_one_label_join() -> None:
    (found,) = decode(
        np.array([[0.9], [0.7], [0.1], [0.1]]),
        np.array(list(units("Tom Baker said hi")), np.int32),
        "Tom Baker said hi",
        0.5,
    )
    assert (found.label, found.start, found.end) == (0, 0, 9)
    assert found.probability == pytest.approx(0.8, abs=1e-6)
    assert found.probability == float(np.float32(found.probability))


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("ab", [[0.5000000001]], []),  # both sides are rounded to float32
        ("ab", [[0.51]], [(0, 0, 2)]),
        ("ab cd", [[0.9, 0.1], [0.1, 0.9]], [(0, 0, 2), (1, 3, 5)]),
        ("ab cd", [[0.9, 0.9], [0.9, 0.1]], [(0, 0, 5)]),  # the first label of equal ones
        ("ab cd ef", [[0.9], [0.1], [0.9]], [(0, 0, 2), (0, 6, 8)]),
        (
            "3.14",
            [[0.9, 0.1], [0.1, 0.1], [0.1, 0.6]],
            [(0, 0, 4)],
        ),  # one unit: the stronger label, and what lies between
        ("3.14", [[0.6, 0.1], [0.1, 0.1], [0.1, 0.9]], [(1, 0, 4)]),
        ("3.14", [[0.7, 0.1], [0.1, 0.1], [0.1, 0.7]], [(0, 0, 4)]),  # equal sums: the first
        ("(ab)", [[0.9], [0.9], [0.9]], [(0, 1, 3)]),
        ("( )", [[0.9], [0.9]], []),  # nothing is left
        ("", [], []),
    ],
)
def test_decoding(text: str, rows: list[list[float]], expected: list[tuple[int, int, int]]) -> None:
    if not rows:
        assert decode(np.zeros((0, 1)), np.zeros((0, 2), np.int32), text, 0.5) == []
        return
    assert spans_of(text, rows) == expected


def test_words_that_cut_an_address_take_one_label() -> None:
    words = np.array([(0, 3), (3, 4), (4, 8)], np.int32)
    (found,) = decode(np.array([[0.9, 0.0], [0.1, 0.0], [0.0, 0.6]]), words, "a.b@c.de", 0.5)
    assert (found.label, found.start, found.end) == (0, 0, 8)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('("hello")', "hello"),
        ('www.example.com/x)."', "www.example.com/x"),
        ("HTTPS://a.b/c!?", "HTTPS://a.b/c"),
        ("www.a.b你好", "www.a.b"),
        ("«“x y”»", "x y"),
        ("a.", "a."),
        (" \u00a0「x」\n", "x"),
        ("()", ""),
        ("www.", "www"),
    ],
)
def test_edges_are_trimmed(text: str, inner: str) -> None:
    start, end = trim(text, 0, len(text))
    assert text[start:end] == inner


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [(0, 5), (6, 9)]), (2, 9, [(0, 3), (4, 7)]), (5, 6, []), (3, 7, [(0, 2), (3, 4)]), (9, 10, [])],
)
def test_spans_are_clipped_to_a_field(low: int, high: int, expected: list[tuple[int, int]]) -> None:
    found = [Found(0, 0, 5, 0.5), Found(1, 6, 9, 0.5)]
    assert [(span.start, span.end) for span in clip(found, "abcde fgh ", low, high)] == expected


BODY = rf"[^\s\]\)}}>\u300c-\u300f\"'\u201c\u201d{CJK}]"
PLAIN = re.compile(rf"(?:https?://|www\.){BODY}+?(?=[.,;:!?]*(?!{BODY}))|(?:[^\W_{CJK}]|[@._+-])+|\S")
PIECES = [*'ab.@-_+ ,)!?"你5/:', "www.", "http://", "\u300c"]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join))
def test_groups_are_those_of_the_pattern(text: str) -> None:
    """Label the first character's unit: its group, as the plain pattern finds it, and no other takes the label."""
    words = np.array([(at, at + 1) for at, character in enumerate(text) if not character.isspace()], np.int32)
    groups = [match.span() for match in PLAIN.finditer(text)]
    for start, end in groups:
        labelled = [at for at, (first, _) in enumerate(words.tolist()) if first in (start, end - 1)]
        rows = np.zeros((len(words), 1))
        rows[labelled] = 0.9
        taken = decode(rows, words, text, 0.5)
        expected = trim(text, start, end)
        assert [(found.start, found.end) for found in taken] == ([expected] if expected[0] < expected[1] else [])
