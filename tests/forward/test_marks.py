"""Networks that read marks beside the ids: placed with their rows, part of a row's identity, probed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vela_jax.contract import Readout, Row
from vela_jax.forward.classes import BitClass, Bucket, Classifier
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.executables import Executables
from vela_jax.forward.network import Mark, Network
from vela_jax.forward.probe import Prober

VOCAB = 50
READOUT = Readout("values", 1, per_token=True)
MARKS = (Mark("weight", 5), Mark("place"))
ARGS = EngineArgs(warmup=(), background=(), row_buckets=(1, 2), length_buckets=(8,), batching="throughput")


def gathered(params: Any, ids: jax.Array, _: jax.Array, marks: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Each token's weight times the value of the token at its place."""
    values = jnp.take(jnp.arange(VOCAB, dtype=jnp.float32) * params, ids, mode="fill", fill_value=jnp.nan)
    there = jnp.take_along_axis(values, marks[:, 1], axis=1)
    return {"values": there * marks[:, 0].astype(jnp.float32) * jnp.float32(depth)}


def leaking(params: Any, ids: jax.Array, lengths: jax.Array, marks: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Every row gets a little of the others' marks."""
    found = gathered(params, ids, lengths, marks, depth)
    return {"values": found["values"] + 1e-3 * jnp.mean(marks.astype(jnp.float32), keepdims=True)[0]}


def network(apply: Any = gathered) -> Network:
    return Network(apply, jnp.float32(2.0), 8, VOCAB, (1,), frozenset({"values"}), MARKS)


def row(ids: list[int], weights: list[int], places: list[int]) -> Row:
    return Row(np.array(ids, np.int32), READOUT, np.array([weights, places], np.int32))


def test_marks_come_with_their_row() -> None:
    engine = BucketEngine(network(), ARGS, jax.devices("cpu")[0])
    rows = [row([1, 2, 3], [1, 2, 4], [2, 1, 0]), row([5], [3], [0])]
    for opening in engine.prepare(rows):
        opening.result()
    found: dict[int, Any] = {}
    for batch in engine.batches(rows):
        found |= dict(zip(batch.indices, engine.run(rows, batch), strict=True))
    assert [found[0].tolist(), found[1].tolist()] == [[6.0, 8.0, 8.0], [30.0]]
    engine.close(None)


def test_rows_with_other_marks_share_neither_slot_nor_result() -> None:
    rows = [row([1, 2], [1, 1], [0, 0]), row([1, 2], [1, 1], [0, 1]), row([1, 2], [1, 1], [0, 0])]
    assert rows[0].content_key() == rows[2].content_key() != rows[1].content_key()
    engine = BucketEngine(network(), ARGS, jax.devices("cpu")[0])
    for opening in engine.prepare(rows):
        opening.result()
    slots = {(batch.indices, batch.slots) for batch in engine.batches(rows)}
    assert slots == {((0, 2), (0, 0)), ((1,), (0,))} or slots == {((0, 2, 1), (0, 0, 1))}
    engine.close(None)


def test_a_row_without_marks_is_known_by_its_ids() -> None:
    plain = Row(np.array([1, 2], np.int32), READOUT)
    assert plain.input_bytes() == plain.ids.tobytes()


@pytest.mark.parametrize(("apply", "members"), [(gathered, (1, 2)), (leaking, (1,))])
def test_the_probe_draws_marks(apply: Any, members: tuple[int, ...]) -> None:
    probed = network(apply)
    executables = Executables(probed, jax.devices("cpu")[0])
    classifier = Classifier(executables, Prober(probed, executables))
    assert classifier.try_count(Bucket(8, 1), BitClass(), 2).members == members


def test_marks_of_the_probe_are_allowed_ones() -> None:
    probed = network()
    prober = Prober(probed, Executables(probed, jax.devices("cpu")[0]))
    for target in prober.targets(8):
        weights, places = prober._marks_of(target)
        assert weights.min() >= 0
        assert weights.max() < 5
        assert places.max() < len(target)
