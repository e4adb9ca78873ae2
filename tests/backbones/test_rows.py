"""Rows of a batch: same bits alone and together, neighbours that do not leak, empty rows that stay finite."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.backbones import reference
from tests.backbones.reference import Pair, run, token_ids
from vela_jax.forward.buckets import count_ladder

MAKERS: dict[str, Callable[[], Pair]] = {
    "modernbert": lambda: reference.modernbert(num_hidden_layers=2),
    "bert": lambda: reference.bert(num_hidden_layers=1),
    "qwen3": lambda: reference.qwen3(num_hidden_layers=1),
    "qwen3_5": lambda: reference.qwen3_5(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"]),
}
NAMES = pytest.mark.parametrize("name", sorted(MAKERS))


@cache
def pair(name: str) -> Pair:
    return MAKERS[name]()


def last(name: str, ids: NDArray[np.int32], lengths: list[int]) -> NDArray[np.float32]:
    depth = pair(name).ours.config.num_hidden_layers
    return run(pair(name).ours, ids, lengths, (depth,))[depth]


@pytest.mark.parametrize(
    ("name", "width"),
    [("modernbert", 16), ("modernbert", 32), ("modernbert", 256), ("bert", 32), ("qwen3", 32), ("qwen3_5", 96)],
)
def test_a_row_has_the_same_bits_alone_and_in_any_batch(name: str, width: int) -> None:
    length = width - 3
    lengths = [length, 1, width, width // 2, width, 2, 7, 9, 5]
    ids = token_ids(lengths, width)
    alone = last(name, ids[:1], lengths[:1])[0, :length]
    for count in count_ladder(width, len(lengths) * width).sizes[1:]:
        together = last(name, ids[:count], lengths[:count])
        np.testing.assert_array_equal(together[0, :length], alone)
        moved = last(name, ids[:count][::-1].copy(), lengths[:count][::-1])
        np.testing.assert_array_equal(moved[-1, :length], alone)


@NAMES
def test_neighbours_do_not_change_a_row(name: str) -> None:
    lengths = [3, 48, 48]
    ids = token_ids(lengths, 48)
    with_long = last(name, ids, lengths)
    ids[1, 20:] = 0
    with_short = last(name, ids, [3, 20, 48])
    np.testing.assert_array_equal(with_short[0, :3], with_long[0, :3])


@NAMES
def test_what_stands_in_the_padding_changes_nothing(name: str) -> None:
    ids = token_ids([20], 32)
    clean = last(name, ids, [20])
    ids[0, 20:] = 77
    np.testing.assert_array_equal(last(name, ids, [20])[0, :20], clean[0, :20])


@NAMES
def test_a_wrong_id_spoils_its_own_row_alone(name: str) -> None:
    lengths = [20, 20]
    ids = token_ids(lengths, 32)
    clean = last(name, ids, lengths)
    ids[1, 5] = reference.VOCAB + 9
    spoiled = last(name, ids, lengths)
    np.testing.assert_array_equal(spoiled[0, :20], clean[0, :20])
    assert np.isnan(spoiled[1]).any()


@NAMES
@pytest.mark.parametrize("width", [16, 256])
def test_empty_rows_are_finite_and_leave_the_others_alone(name: str, width: int) -> None:
    lengths = [width, 1, 0, 0][: count_ladder(width, 4 * width).largest]
    ids = token_ids(lengths, width)
    states = last(name, ids, lengths)
    assert np.isfinite(states).all()
    np.testing.assert_array_equal(states[0], last(name, ids[:1], [width])[0])


def test_later_tokens_change_nothing_before_them_in_a_decoder() -> None:
    ids = token_ids([40], 48)
    whole = last("qwen3", ids, [40])[0, :25]
    ids[0, 25:] = 0
    np.testing.assert_allclose(last("qwen3", ids, [25])[0, :25], whole, rtol=0, atol=1e-6)


def test_a_key_beyond_every_window_is_out_of_reach() -> None:
    sliding = reference.modernbert(layer_types=["sliding_attention"] * 4).ours
    ids = token_ids([256])
    (before,) = run(sliding, ids, [256], (4,)).values()
    ids[0, 200] += 1
    (after,) = run(sliding, ids, [256], (4,)).values()
    changed = np.abs(after - before).max(axis=-1)[0] > 0
    assert changed[168:233].all()  # four layers of eight keys on either side
    assert not changed[:168].any()
    assert not changed[233:].any()
