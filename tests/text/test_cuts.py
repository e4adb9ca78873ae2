"""Where texts may be cut, and what is kept of the part before."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pytest

from vela_jax.text.cuts import (
    RUN_MARGIN,
    CutClass,
    cut_class,
    find_boundary,
    find_piece,
    joins_left,
    kept_before_word,
    kept_in_run,
    solid_length,
)
from vela_jax.text.tokenizer import Encoded

ALL = frozenset(CutClass)


def encoded(*offsets: tuple[int, int]) -> Encoded:
    return Encoded(np.zeros(len(offsets), np.int32), np.array(offsets, np.int32).reshape(-1, 2))


@pytest.mark.parametrize(
    ("characters", "expected"),
    [
        (" ", CutClass.SPACE),
        ("\n\t\r\u00a0\u2003\u3000\u0085\x1c", CutClass.WHITESPACE),
        (".,!?-_\"'()。，「」%&*/@#", CutClass.PUNCTUATION),
        ("+<=>|~$^`€™→😀", CutClass.SYMBOL),
        ("あンー㐀中一한가豈𠀀", CutClass.CJK),
        ("aZé0٣½ßกא\u0301\u200b\u200d\ufe0f\0\u1100\u1161", None),
        ("\u3099\u309a", None),
    ],
)
def test_classes(characters: str, expected: CutClass | None) -> None:
    assert {cut_class(character) for character in characters} == {expected}


def test_every_character_of_a_class_is_found_in_a_text() -> None:
    characters = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    for kind in CutClass:
        members = [character for character in characters if cut_class(character) is kind]
        assert members
        for character in members if len(members) < 9000 else members[::50]:
            assert find_boundary("aa" + character, 0, 3, {kind}) == 2, hex(ord(character))


@pytest.mark.parametrize(
    "character", ["\u0301", "\u0323", "\u3099", "\u093e", "\u1161", "\u11ab", "\u1100", "ﾞ", "\ud7b0"]
)
def test_what_joins_its_left_side(character: str) -> None:
    assert joins_left(character)


@pytest.mark.parametrize("character", ["a", "0", "é", "中", "한", "か", "ｶ", "\u200b", "\0", " ", "ﷺ", "½"])
def test_what_stands_alone(character: str) -> None:
    assert not joins_left(character)


def test_no_composition_reaches_across_a_cut() -> None:
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.normalize("NFD", chr(code)) if not 0xD800 <= code < 0xE000 else ""
        if len(parts) > 1 and unicodedata.normalize("NFC", parts) == chr(code):
            assert all(map(joins_left, parts[1:])), hex(code)


@pytest.mark.parametrize(
    ("start", "end", "classes", "expected"),
    [
        (0, 99, ALL, 2),
        (3, 99, ALL, 5),
        (3, 5, ALL, None),
        (0, 99, {CutClass.PUNCTUATION}, 5),
        (6, 99, ALL - {CutClass.SPACE}, 9),
        (0, 99, {CutClass.SYMBOL}, None),
        (0, 99, frozenset(), None),
    ],
)
def test_first_boundary(start: int, end: int, classes: frozenset[CutClass], expected: int | None) -> None:
    assert find_boundary("ab cd, ef中g", start, end, classes) == expected


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        ("abc", 1, 3, 1),
        ("a\u0301\u0301b", 1, 9, 3),
        ("\u200b\u200b7", 0, 9, 2),
        ("abc", 3, 9, None),
        ("\u0301a", 0, 1, None),
    ],
)
def test_first_piece_of_a_run(text: str, start: int, end: int, expected: int | None) -> None:
    assert find_piece(text, start, end) == expected


def test_trailing_white_space_is_not_solid() -> None:
    assert (solid_length("ab \n\t"), solid_length("ab"), solid_length("  ")) == (2, 2, 0)


def test_the_last_word_is_given_up() -> None:
    part = encoded((0, 3), (3, 5), (30, 33), (33, 36))
    assert kept_before_word(part, np.array([0, 0, 1, 1]), end=36, lookback=16) == 2


def test_words_that_start_near_the_cut_are_given_up() -> None:
    part = encoded((0, 10), (10, 19), (19, 20), (20, 25), (25, 30))
    words = np.array([0, 1, 2, 3, 4])
    assert kept_before_word(part, words, end=30, lookback=10) == 3  # the word at 20 starts at the look-back
    assert kept_before_word(part, words, end=31, lookback=10) == 4
    assert kept_before_word(part, words, end=30, lookback=30) == 0


def test_a_text_of_one_word_keeps_nothing_at_a_boundary() -> None:
    assert kept_before_word(encoded((0, 50), (50, 99)), np.array([0, 0]), end=99, lookback=16) == 0
    assert kept_before_word(encoded(), np.zeros(0, np.int32), end=99, lookback=16) == 0


def test_inside_a_run_what_ends_at_the_margin_is_kept() -> None:
    part = encoded((0, 5), (5, 10), (10, 11), (11, 12))
    assert kept_in_run(part, RUN_MARGIN + 10) == 2
    assert kept_in_run(part, RUN_MARGIN + 9) == 1
    assert kept_in_run(part, RUN_MARGIN) == 0
    assert kept_in_run(part, RUN_MARGIN + 12) == 4
    assert kept_in_run(encoded(), 5000) == 0


def test_inside_a_run_a_late_token_hides_what_follows_it() -> None:
    assert kept_in_run(encoded((0, 5), (9, 900), (5, 6)), RUN_MARGIN + 10) == 1
