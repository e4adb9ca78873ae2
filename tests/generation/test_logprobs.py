"""Which candidates of a position are reported (token-in/token-out contract, section 7.1)."""

from __future__ import annotations

import numpy as np
import pytest

from vela_jax.generation.logprobs import FLOOR, candidates, chosen_candidates

VALUES = np.array([-1.0, -3.0, -0.5, -3.0, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize(
    ("token", "count", "ids"),
    [
        (2, 0, [2]),
        (2, 2, [2, 0]),
        (1, 1, [1, 2]),
        (1, 2, [1, 2, 0]),
        (3, 3, [3, 2, 0, 1]),  # of equal ones the smaller id first
        (2, 3, [2, 0, 1]),
    ],
)
def test_the_sampled_token_comes_first_and_is_not_repeated(token: int, count: int, ids: list[int]) -> None:
    sound = np.where(np.isnan(VALUES), np.float32(-np.inf), VALUES)
    assert [each.token_id for each in candidates(sound, token, count)] == ids


def test_the_whole_vocabulary_has_each_token_once() -> None:
    sound = np.where(np.isnan(VALUES), np.float32(-np.inf), VALUES)
    found = candidates(sound, 4, -1)
    assert sorted(each.token_id for each in found) == list(range(6))
    assert found[0].logprob == FLOOR


def test_ranks_count_what_is_at_least_as_probable() -> None:
    sound = np.where(np.isnan(VALUES), np.float32(-np.inf), VALUES)
    assert [each.rank for each in candidates(sound, 2, 3)] == [1, 2, 4]


def test_what_is_no_number_is_the_floor() -> None:
    assert chosen_candidates(VALUES, 5, [4, 5])[0].logprob == FLOOR
    assert [each.token_id for each in chosen_candidates(VALUES, 5, [4, 5, 0])] == [5, 4, 0]
