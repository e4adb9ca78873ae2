"""Exits: which hidden states come back, normed or not, and which layers run."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from tests.backbones import reference
from tests.backbones.reference import Pair, run, token_ids

LENGTHS = [9, 12]
IDS = token_ids(LENGTHS, 16)


@cache
def pair(name: str) -> Pair:
    pairs: dict[str, Any] = {"modernbert": reference.modernbert, "bert": reference.bert, "qwen3": reference.qwen3}
    made: Pair = pairs[name]()
    return made


@pytest.mark.parametrize("name", ["modernbert", "bert", "qwen3"])
def test_one_pass_gives_the_exits_that_were_asked_for(name: str) -> None:
    ours = pair(name).ours
    depth = ours.config.num_hidden_layers
    everything = run(ours, IDS, LENGTHS, tuple(range(depth + 1)))
    assert list(everything) == list(range(depth + 1))
    some = run(ours, IDS, LENGTHS, (depth, 0, 2, 2))
    assert list(some) == [0, 2, depth]
    for k, state in some.items():
        np.testing.assert_allclose(state, everything[k], rtol=0, atol=1e-6)
        assert state.shape == (2, 16, 64)


@pytest.mark.parametrize(("name", "norm"), [("modernbert", "final_norm"), ("qwen3", "norm")])
def test_exits_before_the_last_are_normed_only_when_asked(name: str, norm: str) -> None:
    ours = pair(name).ours
    depth = ours.config.num_hidden_layers
    raw = run(ours, IDS, LENGTHS, (0, 1, depth))
    normed = run(ours, IDS, LENGTHS, (0, 1, depth), final_norm_exits=True)
    final_norm = getattr(ours, norm)
    for k in (0, 1):
        np.testing.assert_allclose(normed[k], np.asarray(final_norm(jnp.asarray(raw[k]))), rtol=0, atol=1e-6)
        assert np.abs(normed[k] - raw[k]).max() > 1e-2
    np.testing.assert_allclose(normed[depth], raw[depth], rtol=0, atol=1e-6)


def test_the_exits_of_bert_are_normed_already() -> None:
    raw = run(pair("bert").ours, IDS, LENGTHS, (1, 3))
    asked = run(pair("bert").ours, IDS, LENGTHS, (1, 3), final_norm_exits=True)
    for k in (1, 3):
        np.testing.assert_array_equal(asked[k], raw[k])


@pytest.mark.parametrize("name", ["modernbert", "bert", "qwen3"])
@pytest.mark.parametrize("exits", [(), (-1,), (0, 9)])
def test_other_exits_are_refused(name: str, exits: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="exits must be some of 0 to"):
        run(pair(name).ours, IDS, LENGTHS, exits)


@pytest.mark.parametrize("name", ["modernbert", "bert", "qwen3"])
def test_layers_beyond_the_largest_exit_are_not_run(name: str) -> None:
    ours = pair(name).ours
    graph, state = nnx.split(ours)

    def products(exits: tuple[int, ...]) -> int:
        def forward(state: Any, ids: jax.Array, lengths: jax.Array) -> Any:
            return nnx.merge(graph, state)(ids, lengths, exits)

        lowered = jax.jit(forward).lower(state, jnp.asarray(IDS), jnp.asarray(LENGTHS, jnp.int32))
        return str(lowered.compile().as_text()).count(" dot(")

    assert products((0,)) == 0
    assert products((0, 2)) == 2 * products((1,))


def test_bert_refuses_rows_longer_than_its_position_table() -> None:
    with pytest.raises(ValueError, match="rows hold at most 512 tokens; found 528"):
        run(pair("bert").ours, token_ids([5], 528), [5], (1,))
