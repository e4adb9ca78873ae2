"""Units of texts and the tokens they begin with."""

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.families.vela2.words import CJK, find_words, units

TRAIL = re.escape(".,;:!?)]}>\"'") + "\u201d\u2019\u00bb"
PLAIN = re.compile(
    rf"(?:https?://|www\.)[^\s{CJK}]+?(?=[{TRAIL}]*(?![^\s{CJK}]))|[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{{2,}}"
    rf"|@[a-z0-9_]+|[{CJK}]|[^\W{CJK}]+(?:[-_][^\W{CJK}]+)*|\S",
    re.IGNORECASE,
)
"""The pattern of the format as it stands there: right, and quadratic."""
PIECES = [
    *'abW.@-_%+ ,)!?"\n你Ａ5/:',
    "www.",
    "http://",
    "https://",
    "x.y@z.com",
    "@a.bc",
    "\u212a",
    "\u017f",
    "\u13a0",
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Mail tom.baker@example.com or see https://example.org/a?b=1. @alice 你好",
            "Mail|tom.baker@example.com|or|see|https://example.org/a?b=1|.|@alice|你|好",
        ),
        ("state-of-the-art, well_known (yes)!", "state-of-the-art|,|well_known|(|yes|)|!"),
        ("o'Neil's 3.14 $5,000.00", "o|'|Neil|'|s|3|.|14|$|5|,|000|.|00"),
        ("see (www.Example.com/x). “www.a.b”", "see|(|www.Example.com/x|)|.|“|www.a.b|”"),
        ("東京2020年 ＡＢＣ", "東|京|2020|年|Ａ|Ｂ|Ｃ"),
        ("a__b -x- --", "a__b|-|x|-|-|-"),
        ("U.S.A. e-mail: x@y", "U|.|S|.|A|.|e-mail|:|x|@y"),
        (" \n ", ""),
        ("\u13a0\u13a0", "\u13a0|\u13a0"),  # its lower case lies in the long range
    ],
)
def test_units(text: str, found: str) -> None:
    assert "|".join(text[start:end] for start, end in units(text)) == found


@settings(deadline=None, max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_units_are_those_of_the_pattern(text: str) -> None:
    assert list(units(text)) == [match.span() for match in PLAIN.finditer(text)]


@pytest.mark.parametrize(
    "text", ["a." * 40_000 + "a@", "www." + "." * 80_000 + "a", "a.a@" * 20_000, "x" * 100_000 + "@", "@" * 80_000]
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    assert sum(end - start for start, end in units(text)) == len(text)
    assert time.process_time() - started < 5  # the plain pattern takes minutes


def test_words_begin_with_the_first_token_that_reaches_into_them() -> None:
    offsets = np.array([(0, 2), (2, 2), (3, 4), (4, 5), (6, 8)], np.int32)
    words = find_words("ab cd ef", offsets)
    assert words.spans.tolist() == [[0, 2], [3, 5], [6, 8]]
    assert words.first.tolist() == [0, 2, 4]
    assert words.before(3).first.tolist() == [0, 2]
    assert words.before(0).count == 0


@pytest.mark.parametrize(
    ("text", "offsets", "first"),
    [
        ("ab cd", [(0, 5)], [0, 0]),  # one token over two words
        ("ab cd", [(0, 2)], [0]),  # no token reaches the second
        ("ab cd", [(0, 0), (3, 5)], [1]),  # an empty token is none; the first word has no token of its own
        ("ab", [], []),
        ("", [(0, 0)], []),
    ],
)
def test_words_without_a_token_are_dropped(text: str, offsets: list[tuple[int, int]], first: list[int]) -> None:
    assert find_words(text, np.array(offsets, np.int32).reshape(-1, 2)).first.tolist() == first
