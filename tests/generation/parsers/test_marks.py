"""Marks in text that comes in parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.generation.parsers.marks import MarkSearch, held_length


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("a", 0), ("<", 1), ("a <th", 3), ("<think", 6), ("<think>", 0), ("<<", 1), ("<thin k", 0)],
)
def test_held_length(text: str, length: int) -> None:
    assert held_length(text, "<think>") == length


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text("<ab>", max_size=4), max_size=12))
def test_parts_give_what_the_whole_gives(parts: list[str]) -> None:
    whole = "".join(parts)
    search = MarkSearch("<ab>")
    before, after = "", None
    for part in parts:
        if after is not None:
            after += part
            continue
        text, after = search.push(part)
        before += text
    before += search.flush()
    expected, mark, rest = whole.partition("<ab>")
    assert (before, after) == (expected, rest if mark else None)
