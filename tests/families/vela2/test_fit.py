"""Which parts are cut, and by how much."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vela_jax.families.vela2.fit import fit, unread
from vela_jax.families.vela2.parts import ROLES


@pytest.mark.parametrize(
    ("cost", "parts", "limit", "protected", "kept", "cut"),
    [
        (10, {"user": 100, "context": 300}, 200, {"user"}, {"user": 100, "context": 85}, 0),
        (10, {"user": 200, "context": 300}, 200, {"user"}, {"user": 184, "context": 1}, 16),
        (25, {"user": 90, "context": 500}, 180, {"user"}, {"user": 90, "context": 60}, 0),
        (
            10,
            {"user": 300, "context": 300, "answer": 50},
            400,
            set(ROLES),
            {"user": 34, "context": 300, "answer": 50},
            266,
        ),
        (10, {"user": 20}, 200, {"user"}, {"user": 20}, 0),
        (10, {"user": 100, "context": 40}, 90, {"user"}, {"user": 74, "context": 1}, 26),
    ],
)
def test_parts_give_way_in_order(
    cost: int, parts: dict[str, int], limit: int, protected: set[str], kept: dict[str, int], cut: int
) -> None:
    fitted = fit(cost, parts, limit, protected, unread(list(parts), protected))
    assert fitted is not None
    assert (fitted.kept, fitted.cut) == (kept, cut)
    assert 3 + len(parts) + cost + sum(fitted.kept.values()) <= limit


def test_a_schema_that_is_too_long_does_not_fit() -> None:
    assert fit(500, {"user": 10}, 200, {"user"}, None) is None


def test_a_second_part_that_nothing_reads_is_never_cut() -> None:
    assert unread(["user", "context", "answer"], {"answer"}) == "user"
    assert fit(10, {"user": 50, "context": 100, "answer": 50}, 100, {"answer"}, "user") is None


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 300),
    st.lists(st.integers(1, 400), min_size=1, max_size=3),
    st.integers(10, 500),
    st.sets(st.sampled_from(ROLES), min_size=1),
)
def test_what_fits_holds_a_token_of_each_part(cost: int, sizes: list[int], limit: int, protected: set[str]) -> None:
    parts = dict(zip(ROLES, sizes, strict=False))
    fitted = fit(cost, parts, limit, protected, unread(list(parts), protected))
    if fitted is None:
        return
    assert list(fitted.kept) == list(parts)
    assert all(1 <= fitted.kept[role] <= parts[role] for role in parts)
    assert 3 + len(parts) + cost + sum(fitted.kept.values()) <= limit
