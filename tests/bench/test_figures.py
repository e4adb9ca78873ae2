"""Percentiles and paired ratios."""

from __future__ import annotations

import pytest

from bench.figures import in_turns, paired_ratio, percentile


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1.0), (0.25, 1.0), (0.5, 2.0), (0.75, 3.0), (0.95, 4.0), (1.0, 4.0)]
)
def test_percentiles_are_values_that_came(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value


def test_the_99th_of_a_hundred_is_the_99th() -> None:
    assert percentile([float(n) for n in range(1, 101)], 0.99) == 99.0


def test_a_ratio_is_taken_pair_by_pair() -> None:
    # The host was twice as slow in the second round, for both.
    ratio = paired_ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    assert (ratio.median, ratio.low, ratio.high) == (2.0, 2.0, 3.0)
    assert str(ratio) == "2.00 (2.00 to 3.00)"


@pytest.mark.parametrize(("above", "below"), [([], []), ([1.0], [1.0, 2.0])])
def test_pairs_are_needed(above: list[float], below: list[float]) -> None:
    with pytest.raises(ValueError, match=f"found {len(above)} and {len(below)}"):
        paired_ratio(above, below)


def test_each_round_begins_with_another() -> None:
    assert [in_turns("abc", number) for number in range(4)] == [list("abc"), list("bca"), list("cab"), list("abc")]
