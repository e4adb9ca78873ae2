"""Rows that continue a prefix: read once, whoever continues it, and without a trace in the bits of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.forward import networks
from tests.forward.networks import PATIENCE, settle
from vela_jax.contract import OutOfMemory, Prefix, Readout, Row, tokens_of
from vela_jax.forward.classes import BitClass, Bucket, Classifier
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import read_engine_args
from vela_jax.forward.executables import Executables, PrefixShape, Shape
from vela_jax.forward.network import Network
from vela_jax.forward.probe import Prober

VALUES = Readout("values", 1, per_token=True)
OPEN: list[BucketEngine] = []


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    """No thread compiles beyond its test."""
    yield
    while OPEN:
        OPEN.pop().close(PATIENCE)


def read_prefix(params: jax.Array, ids: jax.Array, lengths: jax.Array, room: int) -> tuple[jax.Array, jax.Array]:
    """The ids as numbers, with room, and how many there are."""
    values = jnp.pad(ids[0].astype(jnp.float32) * params, (0, room - ids.shape[1]))
    return values, lengths[0]


def after(params: jax.Array, state: Any, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Each token's value and the largest of the prefix."""
    values, count = state
    before = jnp.max(jnp.where(jnp.arange(values.shape[0]) < count, values, 0.0), keepdims=True)
    found = networks.honest(params, ids, lengths, depth)["tokens"]
    return {"values": found + before[None]}


def leaking(params: jax.Array, state: Any, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
    """Every row gets a little of the others."""
    found = after(params, state, ids, lengths, depth)["values"]
    return {"values": found + jnp.float32(1e-3) * jnp.mean(found, keepdims=True)}


def network(apply: Callable[..., Mapping[str, jax.Array]] = after, reader: Any = read_prefix) -> Network:
    plain = networks.network(max_length=600)
    return replace(plain, apply=apply, depths=(1,), per_token=frozenset({"values"}), read_prefix=reader)


def row(prefix: Prefix, *ids: int) -> Row:
    return Row(np.array(ids, np.int32), VALUES, prefix=prefix)


def prefix(*ids: int) -> Prefix:
    return Prefix(np.array(ids, np.int32))


def engine(of: Network | None = None, **args: object) -> BucketEngine:
    settings = read_engine_args({"warmup": [], "background": [], "row_buckets": [1, 2, 4], **args})
    OPEN.append(BucketEngine(of or network(), settings, jax.devices("cpu")[0]))
    return OPEN[-1]


def ask(model: BucketEngine, rows: list[Row]) -> list[list[float]]:
    for future in model.prepare(rows):
        future.result(PATIENCE)
    found: dict[int, Any] = {}
    for batch in model.batches(rows):
        found |= dict(zip(batch.indices, model.run(rows, batch), strict=True))
    return [found[index].tolist() for index in range(len(rows))]


def counted(model: BucketEngine, monkeypatch: pytest.MonkeyPatch) -> list[PrefixShape]:
    """The prefixes that a model reads from now on."""
    read: list[PrefixShape] = []
    original = model._executables.read_prefix

    def reading(shape: PrefixShape, ids: Any) -> Any:
        read.append(shape)
        return original(shape, ids)

    monkeypatch.setattr(model._executables, "read_prefix", reading)
    return read


def test_rows_continue_their_own_prefix() -> None:
    first, second = prefix(1, 2, 3), prefix(*[1] * 520)
    rows = [row(first, 1, 2), row(second, 1), row(first, *range(20)), row(second, 4)]
    found = ask(engine(), rows)
    assert found[0] == [8.0, 10.0]
    assert found[1] == [4.0]
    assert found[2] == [6.0 + 2 * index for index in range(20)]
    assert found[3] == [10.0]


def test_a_prefix_is_read_once_for_rows_of_all_lengths_and_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    model = engine(batching="throughput")
    read = counted(model, monkeypatch)
    ask(model, [row(prefix(7, 7), *range(length)) for length in (1, 40, 3, 20, 2)])
    ask(model, [row(prefix(7, 7), 9)])
    assert read == [PrefixShape(16, 512)]


def test_only_the_last_prefix_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model = engine()
    read = counted(model, monkeypatch)
    rows = [row(prefix(index % 2), index) for index in range(6)]
    ask(model, rows)
    assert len(read) == 2  # rows of one prefix follow each other
    ask(model, rows[:1])
    assert len(read) == 3


def test_a_batch_counts_the_prefix_that_it_is_to_read() -> None:
    model = engine()
    rows = [row(prefix(*range(20)), 1), row(prefix(*range(20)), 2), row(prefix(3), 2)]
    for future in model.prepare(rows):
        future.result(PATIENCE)
    batches = model.batches(rows)
    assert [(batch.prefix, batch.positions) for batch in batches] == [(32, 48), (0, 16), (16, 32)]
    model.run(rows, batches[0])
    assert [batch.prefix for batch in model.batches(rows)] == [0, 0, 16]


def test_a_failed_forward_leaves_no_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    model = engine()
    rows = [row(prefix(1), 2)]
    ask(model, rows)
    read = counted(model, monkeypatch)

    def broken(*_: object) -> Any:
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: no")

    (batch,) = model.batches(rows)
    with monkeypatch.context() as patch:
        patch.setattr(model._executables, "run", broken)
        with pytest.raises(OutOfMemory):
            model.run(rows, batch)
    assert ask(model, rows) == [[6.0]]
    assert len(read) == 1


def test_many_rows_run_in_chunks_behind_one_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    model = engine(batching="throughput", max_batch_tokens=80)
    rows = [row(prefix(1), index, index) for index in range(40)]
    ask(model, rows[:1])
    settle(model)
    read = counted(model, monkeypatch)
    batches = model.batches(rows)
    assert max(batch.count * batch.length for batch in batches) <= 80
    assert len(batches) < 20
    assert ask(model, rows) == [[2 * index + 2.0] * 2 for index in range(40)]
    assert read == []


@pytest.mark.parametrize(("apply", "members"), [(after, (1, 3)), (leaking, (1,))])
def test_row_counts_are_probed_behind_a_random_prefix(apply: Any, members: tuple[int, ...]) -> None:
    probed = network(apply)
    executables = Executables(probed, jax.devices("cpu")[0])
    values, count = Prober(probed, executables)._before(Shape(1, 16, 1, 512))[0]
    assert (values.shape, int(count)) == ((512,), 512)
    assert np.ptp(values) > 1
    classifier = Classifier(executables, Prober(probed, executables))
    assert classifier.try_count(Bucket(16, 1, 512), BitClass(), 3).members == members


def test_a_row_has_the_same_bits_beside_any_others() -> None:
    for apply in (after, leaking):
        model = engine(network(apply))
        target = row(prefix(3, 1, 4), 1, 5)
        (alone,) = ask(model, [target])
        settle(model)
        for count in (1, 2, 5):
            company = [row(prefix(3, 1, 4) if index % 2 else prefix(9), index, 7) for index in range(count)]
            assert ask(model, [*company, target])[-1] == alone


def test_a_warm_path_never_compiles() -> None:
    model = engine(warmup=[16, 520])
    progress: list[tuple[int, int]] = []
    model.warm(lambda done, total: progress.append((done, total)))
    assert progress[-1] == (6, 6)  # two lengths of prefixes with a room each, two lengths of rows behind each
    compiles = model.compiles
    for before in (1, 16, 600):
        ask(model, [row(prefix(*[1] * before), *range(length)) for length in (1, 16, 40)])
    assert model.compiles > compiles  # length 40 was not warmed
    compiles = model.compiles
    for before in (2, 11, 590):
        ask(model, [row(prefix(*[2] * before), *range(length)) for length in (2, 15, 41)])
    assert model.compiles == compiles


def test_the_card_tells_the_room_for_a_prefix() -> None:
    model = engine()
    ask(model, [row(prefix(1), 1), row(prefix(*[1] * 520), 1)])
    assert [(line["length"], line["prefix"]) for line in model.report()] == [(16, 512), (16, 600)]


def test_rows_behind_other_prefixes_are_other_rows() -> None:
    rows = [row(prefix(1), 5), row(prefix(2), 5), row(prefix(1), 5)]
    assert rows[0].content_key() == rows[2].content_key() != rows[1].content_key()
    assert tokens_of(rows) == 5
    assert tokens_of([]) == 0
