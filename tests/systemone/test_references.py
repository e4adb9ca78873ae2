from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.contract import InputRefused
from vela_jax.systemone.references import MAX_USES, References, Uses


def plain(text: str, references: list[str]) -> str:
    """The rule itself: from left to right, the longest that begins there."""
    out, place = "", 0
    while place < len(text):
        found = max((each for each in references if text.startswith(each, place)), key=len, default=None)
        out += f"({found})" if found else text[place]
        place += len(found) if found else 1
    return out


@settings(deadline=None, max_examples=300)
@given(st.text("ab<", max_size=30), st.lists(st.text("ab<", min_size=1, max_size=4), unique=True, max_size=5))
def test_texts_are_replaced_by_the_rule(text: str, references: list[str]) -> None:
    assert References(references).replace(text, lambda found: f"({found})") == plain(text, references)
    assert References(references).are_in({"x": [text]}) == any(each in text for each in references)


def test_values_at_any_depth_and_no_keys() -> None:
    value: Any = {"i": ["i", {"i": "x i", "n": [None, 1, True, 1.5]}]}
    replaced = References(["i"]).replace(value, lambda _: "IMAGE")
    assert replaced == {"i": ["IMAGE", {"i": "x IMAGE", "n": [None, 1, True, 1.5]}]}
    assert not References(["i"]).are_in({"i": {"i": 1}})


def test_uses_are_numbered_by_kind_in_order() -> None:
    uses = Uses({"i": "image", "v": "video"}, {"image": 2})
    assert [uses(each) for each in "ivi"] == ["[image 3]", "[video 1]", "[image 4]"]
    assert uses.take() == ["i", "v", "i"]
    assert uses.take() == []


def test_uses_are_bounded() -> None:
    uses = Uses({"i": "image"}, {})
    with pytest.raises(InputRefused, match=f"more than {MAX_USES} times"):
        References(["i"]).replace("i" * (MAX_USES + 1), uses)
