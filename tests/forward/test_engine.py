"""The engine on a small network that is checked by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vela_jax.contract import Readout, Row
from vela_jax.forward.engine import BucketEngine, Network
from vela_jax.forward.engine_args import EngineArgs, read_engine_args

TRACES: list[tuple[int, ...]] = []


def apply(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> dict[str, jax.Array]:
    """Scale ids; sum and list them."""
    TRACES.append(ids.shape)
    values = ids.astype(jnp.float32) * params * jnp.float32(depth)
    mask = jnp.arange(ids.shape[1])[None, :] < lengths[:, None]
    return {"sum": jnp.sum(jnp.where(mask, values, jnp.float32(0)), axis=1), "tokens": values}


def engine(args: EngineArgs) -> BucketEngine:
    network = Network(apply, jnp.float32(2.0), max_length=32, depths=(1, 2))
    return BucketEngine(network, args, jax.devices()[0])


def row(*ids: int, readout: Readout = Readout("sum", 2)) -> Row:  # noqa: B008
    return Row(np.array(ids, np.int32), readout)


@pytest.mark.parametrize("batching", ["exact", "throughput"])
def test_every_row_gets_its_own_readout(batching: str) -> None:
    model = engine(read_engine_args({"batching": batching}))
    rows = [
        row(1, 2, 3),
        row(4, readout=Readout("tokens", 2, per_token=True)),
        row(1, 2, 3, readout=Readout("tokens", 1, per_token=True)),
        row(*range(20)),
    ]
    found: dict[int, np.ndarray] = {}
    for batch in model.batches(rows):
        found.update(zip(batch.indices, model.run(rows, batch), strict=True))
    assert found[0] == 24.0
    assert found[1].tolist() == [16.0]
    assert found[2].tolist() == [2.0, 4.0, 6.0]
    assert found[3] == 760.0


def test_a_bucket_is_traced_once() -> None:
    model = engine(EngineArgs(warmup=(16, 20, 4000)))
    TRACES.clear()
    progress: list[tuple[int, int]] = []
    model.warm(lambda done, total: progress.append((done, total)))
    assert progress == [(1, 2), (2, 2)]
    assert sorted(TRACES) == [(1, 16), (1, 32)]
    for length in range(1, 33):
        rows = [row(*range(length))]
        for batch in model.batches(rows):
            model.run(rows, batch)
    assert len(TRACES) == 2
    assert model.compiled_shapes == {(1, 16, 2), (1, 32, 2)}


def test_exact_runs_one_row_a_forward() -> None:
    model = engine(EngineArgs())
    assert [batch.count for batch in model.batches([row(1), row(2)])] == [1, 1]


@pytest.mark.parametrize(
    ("values", "numerics"),
    [({}, "exact"), ({"batching": "exact"}, "exact"), ({"batching": "throughput"}, "approximate")],
)
def test_numerics_follow_from_batching(values: dict[str, str], numerics: str) -> None:
    assert read_engine_args(values).numerics == numerics


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"batching": "fast"}, "batching"),
        ({"length_buckets": [16, 16]}, "ascending"),
        ({"row_buckets": []}, "ascending"),
        ({"max_batch_tokens": 0}, "max_batch_tokens"),
        ({"warmup": [0]}, "warmup"),
        ({"speed": 1}, "speed"),
    ],
)
def test_bad_engine_args_are_named(values: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_engine_args(values)
