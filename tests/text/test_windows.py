"""Windows and the window that speaks for each token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.text.windows import Window, WindowError, owners, windows


@pytest.mark.parametrize(
    ("count", "size", "overlap", "expected"),
    [
        (510, 512, 255, [(0, 510)]),
        (511, 512, 255, [(0, 510), (255, 511)]),
        (766, 512, 255, [(0, 510), (255, 765), (510, 766)]),
        (7, 5, 0, [(0, 3), (3, 6), (6, 7)]),
        (1, 3, 0, [(0, 1)]),
        (6, 5, 0, [(0, 3), (3, 6)]),
        (5, 5, 2, [(0, 3), (1, 4), (2, 5)]),
    ],
)
def test_windows(count: int, size: int, overlap: int, expected: list[tuple[int, int]]) -> None:
    assert windows(count, size, overlap, 2) == tuple(Window(*pair) for pair in expected)


def test_windows_of_a_text_at_the_limit() -> None:
    found = windows(32766, 512, 255, 2)
    assert len(found) == 128
    assert found[-1] == (32385, 32766)


@pytest.mark.parametrize(
    ("count", "size", "overlap", "message"),
    [
        (0, 512, 255, "no tokens"),
        (1, 2, 0, "no room"),
        (1, 1, 0, "no room"),
        (1, 512, 510, "overlap is 510, allowed are 0 to 509"),
        (1, 512, -1, "overlap is -1"),
    ],
)
def test_impossible_windows(count: int, size: int, overlap: int, message: str) -> None:
    with pytest.raises(WindowError, match=message):
        windows(count, size, overlap, 2)


def test_without_special_tokens_a_window_is_all_content() -> None:
    assert windows(7, 5, 3, 0) == (Window(0, 5), Window(2, 7))


def test_the_deepest_window_owns_a_token() -> None:
    assert owners((Window(0, 5), Window(2, 7)), 7).tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_one_window_owns_everything() -> None:
    assert owners((Window(0, 4),), 4).tolist() == [0, 0, 0, 0]


def test_a_token_outside_all_windows_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="token 3 of 6 lies in none of 2 windows"):
        owners((Window(0, 3), Window(4, 6)), 6)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 400), st.integers(3, 60), st.integers(0, 59))
def test_windows_cover_the_text_and_owners_are_deepest(count: int, size: int, overlap: int) -> None:
    width = size - 2
    overlap %= width
    parts = windows(count, size, overlap, 2)
    stepped, start = [], 0
    while True:
        stepped.append(Window(start, min(start + width, count)))
        if stepped[-1].end == count:
            break
        start += width - overlap
    assert parts == tuple(stepped)
    depths = [[min(token - s, e - token - 1) if s <= token < e else -1 for s, e in parts] for token in range(count)]
    assert owners(parts, count).tolist() == [int(np.argmax(row)) for row in depths]
