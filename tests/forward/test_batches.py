"""Batch plans."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vela_jax.contract import Readout, Row
from vela_jax.forward.batches import plan_batches
from vela_jax.forward.buckets import Ladder, count_ladder, length_ladder

LADDER = length_ladder(64)


def row(*ids: int, depth: int = 2, name: str = "logits") -> Row:
    return Row(np.array(ids, np.int32), Readout(name, depth))


def one(_: int) -> Ladder:
    return Ladder((1,))


def test_one_row_a_forward() -> None:
    batches = plan_batches([row(1, 2), row(3)], LADDER, one)
    assert [(batch.indices, batch.count, batch.length) for batch in batches] == [((0,), 1, 16), ((1,), 1, 16)]


def test_equal_rows_share_a_slot_whatever_their_readout() -> None:
    (batch,) = plan_batches([row(1, 2), row(1, 2, name="other"), row(1, 2)], LADDER, one)
    assert batch.indices == (0, 1, 2)
    assert batch.slots == (0, 0, 0)


def test_rows_of_another_depth_run_apart() -> None:
    batches = plan_batches([row(1), row(1, depth=1)], LADDER, one)
    assert [batch.depth for batch in batches] == [2, 1]


def test_rows_of_one_bucket_run_together_and_the_rest_is_padded() -> None:
    rows = [row(index) for index in range(1, 8)]
    batches = plan_batches(rows, LADDER, lambda length: count_ladder(length, 64))
    assert [(len(batch.indices), batch.count) for batch in batches] == [(4, 4), (3, 4)]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=64), max_size=40), st.integers(1, 400))
def test_every_row_has_exactly_one_place(ids: list[list[int]], budget: int) -> None:
    rows = [row(*one_ids, depth=1 + len(one_ids) % 2) for one_ids in ids]
    batches = plan_batches(rows, LADDER, lambda length: count_ladder(length, budget))
    assert sorted(index for batch in batches for index in batch.indices) == list(range(len(rows)))
    for batch in batches:
        assert batch.count == 1 or batch.count * batch.length <= budget
        assert max(batch.slots) < batch.count
        for index in batch.indices:
            assert rows[index].length <= batch.length == LADDER.fit(rows[index].length)
            assert rows[index].readout.depth == batch.depth
