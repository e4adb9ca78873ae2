"""Ladders."""

import pytest

from vela_jax.forward.buckets import LENGTHS, Ladder, count_ladder, length_ladder


@pytest.mark.parametrize(("value", "size"), [(0, 16), (1, 16), (16, 16), (17, 32), (48, 48), (32768, 32768)])
def test_a_value_goes_to_the_smallest_size_that_holds_it(value: int, size: int) -> None:
    assert Ladder(LENGTHS).fit(value) == size


def test_a_value_above_the_largest_size_is_refused() -> None:
    with pytest.raises(ValueError, match="33 is above the largest bucket, 32"):
        Ladder((16, 32)).fit(33)


@pytest.mark.parametrize("sizes", [(), (0, 4), (4, 4), (8, 4)])
def test_a_ladder_must_ascend(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ascending"):
        Ladder(sizes)


@pytest.mark.parametrize(("limit", "expected"), [(512, 512), (300, 300), (8, 8), (32768, 32768), (40000, 40000)])
def test_the_models_limit_is_the_last_length(limit: int, expected: int) -> None:
    ladder = length_ladder(limit)
    assert ladder.largest == expected
    assert ladder.fit(limit) == limit


def test_row_counts_stay_within_the_token_budget() -> None:
    assert count_ladder(64, 300).sizes == (1, 2, 4)
    assert count_ladder(512, 256).sizes == (1,)
    assert count_ladder(64, 65536).sizes == (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize("length", [16, 32, 48, 96, 300])
def test_row_counts_are_odd_where_the_length_is_no_multiple_of_64(length: int) -> None:
    assert count_ladder(length, 65536).sizes == (1, 3, 5, 9, 17, 33)
    assert count_ladder(length, 4 * length).sizes == (1, 3)
