"""Drawing tokens on the device (token-in/token-out contract, section 13)."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vela_jax.generation.sampling import Draw, sample

SIZE = 8
LOGITS = np.array([0.0, 2.0, 1.0, -1.0, 1.5, -2.0, 0.5, -0.5], np.float32)
DRAWS = 200


def draw(**changes: object) -> Draw:
    plain = Draw(
        hidden=np.zeros(SIZE, np.bool_),
        bias=np.zeros(SIZE, np.float32),
        seen=np.zeros(SIZE, np.bool_),
        counts=np.zeros(SIZE, np.int32),
        penalties=(1.0, 0.0, 0.0),
        temperature=0.0,
        top_p=1.0,
        min_p=0.0,
        top_k=0,
        seed=3,
        step=0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


_sample = jax.jit(sample)


def one(how: Draw, logits: np.ndarray = LOGITS) -> int:
    token, counts = _sample(jnp.asarray(logits), *how.arguments())
    assert int(counts[token]) == int(how.counts[token]) + 1
    return int(token)


def drawn(how: Draw) -> set[int]:
    return {one(replace(how, step=step)) for step in range(DRAWS)}


def mask(*ids: int) -> np.ndarray:
    found = np.zeros(SIZE, np.bool_)
    found[list(ids)] = True
    return found


def counts(**by_id: int) -> np.ndarray:
    found = np.zeros(SIZE, np.int32)
    for name, value in by_id.items():
        found[int(name[1:])] = value
    return found


def test_a_temperature_of_zero_takes_the_best() -> None:
    assert one(draw()) == 1


def test_hidden_tokens_never_come() -> None:
    assert one(draw(hidden=mask(1, 4))) == 2
    assert drawn(draw(temperature=2.0, hidden=mask(0, 1, 2, 4, 5))) == {3, 6, 7}


def test_a_bias_is_added() -> None:
    bias = np.zeros(SIZE, np.float32)
    bias[5] = 10
    assert one(draw(bias=bias)) == 5
    assert one(draw(bias=bias, hidden=mask(5))) == 1


@pytest.mark.parametrize(
    ("changes", "best"),
    [
        ({"penalties": (2.0, 0.0, 0.0), "seen": mask(1)}, 4),  # 2.0 / 2 = 1.0
        ({"penalties": (2.0, 0.0, 0.0), "counts": counts(_1=1)}, 4),
        ({"penalties": (1.0, 0.3, 0.0), "counts": counts(_1=1)}, 1),
        ({"penalties": (1.0, 0.3, 0.0), "counts": counts(_1=2)}, 4),
        ({"penalties": (1.0, 0.0, 0.4), "counts": counts(_1=9)}, 1),
        ({"penalties": (1.0, 0.0, 0.6), "counts": counts(_1=1)}, 4),
        ({"penalties": (1.0, 2.0, 2.0), "seen": mask(1)}, 1),  # these two count the output alone
        ({"penalties": (1.0, -2.0, 0.0), "counts": counts(_5=3)}, 5),
    ],
)
def test_penalties(changes: dict[str, object], best: int) -> None:
    assert one(draw(**changes)) == best


def test_a_negative_logit_is_multiplied_by_the_repetition_penalty() -> None:
    low = np.array([-1.0, -1.5] + [-9.0] * 6, np.float32)
    assert one(draw(penalties=(2.0, 0.0, 0.0), seen=mask(0)), low) == 1


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({"top_k": 1}, {1}),
        ({"top_k": 3}, {1, 4, 2}),
        ({"top_p": 1e-6}, {1}),
        ({"top_p": 0.6}, {1, 4}),
        ({"min_p": 1.0}, {1}),
        ({"min_p": 0.5}, {1, 4}),
        ({"top_k": 2, "top_p": 0.5}, {1}),
    ],
)
def test_what_survives(changes: dict[str, object], tokens: set[int]) -> None:
    assert drawn(draw(temperature=1.0, **changes)) == tokens


def test_equal_tokens_at_the_kth_place_stay() -> None:
    level = draw(temperature=1.0, top_k=2)
    flat = np.array([1.0, 1.0, 1.0] + [-5.0] * 5, np.float32)
    assert {one(replace(level, step=step), flat) for step in range(DRAWS)} == {0, 1, 2}


def test_draws_follow_the_probabilities() -> None:
    tokens = [one(draw(temperature=1.0, seed=seed)) for seed in range(1_000)]
    wanted = np.exp(LOGITS) / np.exp(LOGITS).sum()
    np.testing.assert_allclose(np.bincount(tokens, minlength=SIZE) / 1_000, wanted, atol=0.05)


def test_a_draw_follows_from_seed_and_step_alone() -> None:
    how = draw(temperature=1.5, seed=2**63 + 11, step=4)
    assert one(how) == one(how)
    assert len({tuple(one(replace(how, seed=seed, step=step)) for step in range(12)) for seed in range(20)}) == 20
    assert [one(replace(how, seed=1, step=step)) for step in range(12)] != [
        one(replace(how, seed=1 + 2**32, step=step)) for step in range(12)
    ]
