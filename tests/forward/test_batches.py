"""Batch plans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forward.networks import row
from vela_jax.contract import Readout
from vela_jax.forward.batches import MOST_PADDING, cut, plan_batches
from vela_jax.forward.buckets import Ladder, Sizes, count_ladder, length_ladder
from vela_jax.forward.classes import Bucket

SIZES = Sizes(length_ladder(64), length_ladder(64, (32,)))


def one(_: Bucket) -> Ladder:
    return Ladder((1,))


def test_one_row_a_forward() -> None:
    batches = plan_batches([row(1, 2), row(3)], SIZES, one)
    assert [(batch.indices, batch.count, batch.length) for batch in batches] == [((0,), 1, 16), ((1,), 1, 16)]


def test_equal_rows_share_a_slot_whatever_their_readout() -> None:
    (batch,) = plan_batches([row(1, 2), row(1, 2, readout=Readout("other", 2)), row(1, 2)], SIZES, one)
    assert batch.indices == (0, 1, 2)
    assert batch.slots == (0, 0, 0)


def test_rows_of_another_depth_run_apart() -> None:
    batches = plan_batches([row(1), row(1, readout=Readout("sum", 1))], SIZES, one)
    assert [batch.depth for batch in batches] == [2, 1]


@pytest.mark.parametrize(
    ("rows", "sizes", "batches"),
    [
        (1, (1, 2, 4, 8), [(1, 1)]),
        (1, (2, 4), [(2, 1)]),
        (2, (1, 2, 4, 8), [(2, 2)]),
        (3, (1, 2, 4, 8), [(4, 3)]),
        (5, (1, 2, 4, 8), [(4, 4), (1, 1)]),
        (6, (1, 2, 4, 8), [(8, 6)]),
        (7, (1, 2, 4, 8), [(8, 7)]),
        (9, (1, 2, 4, 8), [(8, 8), (1, 1)]),
        (20, (1, 2, 4, 8), [(8, 8), (8, 8), (4, 4)]),
        (3, (2,), [(2, 2), (2, 1)]),
        (3, (1,), [(1, 1)] * 3),
    ],
)
def test_cutting(rows: int, sizes: tuple[int, ...], batches: list[tuple[int, int]]) -> None:
    assert list(cut(rows, Ladder(sizes))) == batches


@given(st.integers(0, 300), st.sets(st.integers(1, 32), min_size=1))
def test_a_cut_takes_every_row_and_pads_little(rows: int, sizes: set[int]) -> None:
    ladder = Ladder(tuple(sorted(sizes)))
    found = list(cut(rows, ladder))
    assert sum(taken for _, taken in found) == rows
    for count, taken in found:
        assert count in sizes
        assert 0 < taken <= count
        assert count - taken <= MOST_PADDING * count or count == min(sizes)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=64), max_size=40), st.integers(1, 400))
def test_every_row_has_exactly_one_place(ids: list[list[int]], budget: int) -> None:
    rows = [row(*one_ids, readout=Readout("sum", 1 + len(one_ids) % 2)) for one_ids in ids]
    batches = plan_batches(rows, SIZES, lambda bucket: count_ladder(bucket.length, budget))
    assert sorted(index for batch in batches for index in batch.indices) == list(range(len(rows)))
    for batch in batches:
        assert batch.count == 1 or batch.count * batch.length <= budget
        assert max(batch.slots) < batch.count
        for index in batch.indices:
            assert rows[index].length <= batch.length == SIZES.lengths.fit(rows[index].length)
            assert rows[index].readout.depth == batch.depth
