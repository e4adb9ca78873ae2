"""The estimate of a body's encoded size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.body_size import encoded_size

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
)


@settings(deadline=None, max_examples=60)
@given(JSON)
def test_estimate_is_near_the_encoding(value: Any) -> None:
    encoded = len(json.dumps(value, ensure_ascii=False))
    assert encoded / 3 - 4 <= encoded_size(value, 1 << 30) <= 4 * encoded + 8


@pytest.mark.parametrize("body", [{"input": "x" * 20_000}, {"input": ["ab"] * 10_000}, {"x" * 20_000: None}])
def test_counting_stops_soon_after_enough(body: Any) -> None:
    assert encoded_size(body, 16_384) > 16_384


def test_depth_costs_no_stack() -> None:
    value: Any = []
    for _ in range(5_000):
        value = [value]
    assert encoded_size(value, 1 << 30) == 2 * 5_001
