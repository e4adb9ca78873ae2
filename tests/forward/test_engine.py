"""The engine on small networks that are checked by hand."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.forward import networks
from tests.forward.networks import PATIENCE, SUM, TOKENS, Traces, row, settle
from vela_jax.contract import DeviceFault, OutOfMemory, Readout, Row
from vela_jax.forward.classes import Bucket
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs, read_engine_args
from vela_jax.forward.records import ClassRecords

OPEN: list[BucketEngine] = []


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    """No thread compiles beyond its test."""
    yield
    while OPEN:
        OPEN.pop().close(PATIENCE)


def engine(
    apply: networks.Apply = networks.honest, records: ClassRecords | None = None, **args: object
) -> BucketEngine:
    settings = read_engine_args({"warmup": [16], "background": [], "row_buckets": [1, 2, 4, 8], **args})
    OPEN.append(BucketEngine(networks.network(apply), settings, jax.devices()[0], records))
    return OPEN[-1]


def ready(model: BucketEngine) -> BucketEngine:
    """Warm up, and wait for what follows in the background."""
    model.warm(lambda *_: None)
    model.fill()
    settle(model)
    return model


def ask(model: BucketEngine, rows: list[Row]) -> list[np.ndarray]:
    for future in model.prepare(rows):
        future.result(PATIENCE)
    found: dict[int, np.ndarray] = {}
    for batch in model.batches(rows):
        found.update(zip(batch.indices, model.run(rows, batch), strict=True))
    return [found[index] for index in range(len(rows))]


@pytest.mark.parametrize("batching", ["exact", "throughput"])
def test_every_row_gets_its_own_readout(batching: str) -> None:
    model = ready(engine(batching=batching))
    deep = Readout("tokens", 1, per_token=True)
    found = ask(model, [row(1, 2, 3), row(4, readout=TOKENS), row(1, 2, 3, readout=deep), row(*range(20))])
    assert found[0] == 24.0
    assert found[1].tolist() == [16.0]
    assert found[2].tolist() == [2.0, 4.0, 6.0]
    assert found[3] == 760.0


def test_warming_reports_its_progress() -> None:
    progress: list[tuple[int, int]] = []
    engine(warmup=[16, 20, 4000]).warm(lambda done, total: progress.append((done, total)))
    assert progress == [(1, 2), (2, 2)]


def test_a_warm_path_never_compiles() -> None:
    traces = Traces()
    model = ready(engine(traces.apply, warmup=[16, 32]))
    before, compiles = len(traces.shapes), model.compiles
    for length in range(1, 33):
        for count in range(1, 12):
            ask(model, [row(*range(1, length), extra) for extra in range(count)])
    assert len(traces.shapes) == before
    assert model.compiles == compiles


def test_rows_of_a_bucket_run_together_once_proved() -> None:
    model = ready(engine())
    rows = [row(index) for index in range(1, 8)]
    assert [batch.count for batch in model.batches(rows)] == [9]
    assert [value.item() for value in ask(model, rows)] == [4.0 * index for index in range(1, 8)]


@pytest.mark.parametrize(
    ("apply", "counts"),
    [
        (networks.honest, [9]),
        (networks.eight_differs, [5, 5]),
        (networks.lone_differs, [1] * 9),
        (networks.leaking, [1] * 9),
        (networks.placed, [1] * 9),
        (networks.poisoned, [1] * 9),
    ],
)
def test_only_proved_row_counts_serve(apply: networks.Apply, counts: list[int]) -> None:
    model = ready(engine(apply))
    assert [batch.count for batch in model.batches([row(index) for index in range(9)])] == counts


@pytest.mark.parametrize("apply", [networks.honest, networks.lone_differs, networks.eight_differs, networks.leaking])
def test_a_row_has_the_same_bits_in_any_company(apply: networks.Apply) -> None:
    model = ready(engine(apply))
    target = row(3, 1, 4, 1, 5)
    alone = ask(model, [target])[0].tobytes()
    for count in (1, 2, 3, 7, 12):
        for place in (0, count // 2, count):
            company = [row(index, 9) for index in range(count)]
            rows = [*company[:place], target, *company[place:]]
            assert ask(model, rows)[place].tobytes() == alone


def test_throughput_uses_what_is_not_proved_and_says_so() -> None:
    model = ready(engine(networks.leaking, batching="throughput"))
    assert [batch.count for batch in model.batches([row(index) for index in range(8)])] == [9]
    assert {line["verdict"] for line in model.report()} == {"unproved"}


def test_a_bucket_opens_when_it_is_asked_for() -> None:
    model = engine(warmup=[])
    (future,) = model.prepare([row(1), row(2)])
    future.result(PATIENCE)
    assert model.prepare([row(1)]) == []
    assert ask(model, [row(1)])[0] == 4.0


def test_a_bucket_that_is_not_open_cannot_be_planned() -> None:
    with pytest.raises(KeyError):
        engine(warmup=[]).batches([row(1)])


def test_waiting_callers_share_one_opening() -> None:
    model = engine(warmup=[])
    first, second = model.prepare([row(1)]), model.prepare([row(2)])
    assert first == second


def test_a_failed_opening_fails_its_callers_and_is_tried_again() -> None:
    broken = True

    def apply(params: jax.Array, ids: jax.Array, lengths: jax.Array, depth: int) -> Mapping[str, jax.Array]:
        if broken:
            raise RuntimeError("no")
        return networks.honest(params, ids, lengths, depth)

    model = engine(apply, warmup=[])
    with pytest.raises(RuntimeError, match="no"):
        model.prepare([row(1)])[0].result(PATIENCE)
    broken = False
    assert ask(model, [row(1)])[0] == 4.0


@pytest.mark.parametrize(
    ("text", "expected"), [("RESOURCE_EXHAUSTED: out of memory", OutOfMemory), ("CUDA_ERROR_UNKNOWN", DeviceFault)]
)
def test_what_the_device_says_while_a_bucket_opens_is_told_apart(text: str, expected: type[Exception]) -> None:
    def apply(*_: object) -> Mapping[str, jax.Array]:
        raise jax.errors.JaxRuntimeError(text)

    for batching in ("exact", "throughput"):
        with pytest.raises(expected):
            engine(apply, warmup=[], batching=batching).prepare([row(1)])[0].result(PATIENCE)


def test_the_background_opens_further_lengths() -> None:
    model = ready(engine(background=[64]))
    assert model.prepare([row(*range(60))]) == []


def test_a_closed_engine_opens_nothing() -> None:
    model = engine(warmup=[])
    model.close()
    assert model.prepare([row(1)])[0].cancelled()


def test_the_card_has_a_line_a_bucket() -> None:
    model = ready(engine(networks.eight_differs))
    assert model.report() == [
        {"length": 16, "depth": 2, "rows": [1, 3, 5], "rejected": [9], "verdict": "proved"},
    ]


def test_the_token_budget_bounds_a_forward() -> None:
    model = ready(engine(max_batch_tokens=64))
    assert [batch.count for batch in model.batches([row(index) for index in range(8)])] == [3, 3, 1, 1]


def test_a_record_spares_the_probe_and_keeps_the_classes(tmp_path: Path) -> None:
    traces = Traces()
    ready(engine(traces.apply, ClassRecords(tmp_path, {"model": "a"})))
    again = Traces()
    model = engine(again.apply, ClassRecords(tmp_path, {"model": "a"}))
    model.warm(lambda *_: None)
    assert again.shapes == [(1, 16)]
    assert len(traces.shapes) > 4
    model.fill()
    settle(model)
    assert [batch.count for batch in model.batches([row(index) for index in range(8)])] == [9]


def test_a_record_of_other_row_counts_is_not_used(tmp_path: Path) -> None:
    ready(engine(records=ClassRecords(tmp_path, {})))
    model = ready(engine(records=ClassRecords(tmp_path, {}), row_buckets=[1, 2]))
    assert ClassRecords(tmp_path, {}).known[Bucket(16, 2)].members == (1, 3)
    assert [batch.count for batch in model.batches([row(index) for index in range(3)])] == [3]


@pytest.mark.parametrize(("batching", "numerics"), [("exact", "exact"), ("throughput", "approximate")])
def test_numerics_follow_from_batching(batching: str, numerics: str) -> None:
    assert read_engine_args({"batching": batching}).numerics == numerics


@pytest.mark.parametrize("batching", ["exact", "throughput"])
def test_another_precision_than_the_release_is_approximate(batching: str) -> None:
    assert read_engine_args({"batching": batching, "dtype": "bfloat16"}).numerics == "approximate"


@pytest.mark.parametrize(("mesh", "devices"), [(None, 1), ({}, 1), ({"tensor": 4}, 4)])
def test_a_mesh_is_a_number_of_devices_and_no_loss(mesh: object, devices: int) -> None:
    args = read_engine_args({"mesh": mesh})
    assert (args.devices, args.numerics) == (devices, "exact")


@pytest.mark.parametrize(("platform", "tokens"), [("cpu", 1024), ("gpu", 65536)])
def test_the_default_budget_follows_the_device(platform: str, tokens: int) -> None:
    assert EngineArgs().batch_tokens(platform) == tokens
    assert EngineArgs(max_batch_tokens=77).batch_tokens(platform) == 77


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"batching": "fast"}, "batching"),
        ({"length_buckets": [16, 16]}, "ascending"),
        ({"row_buckets": []}, "ascending"),
        ({"max_batch_tokens": 0}, "max_batch_tokens"),
        ({"warmup": [0]}, "warmup"),
        ({"background": [-1]}, "background"),
        ({"speed": 1}, "speed"),
        ({"dtype": "fp8"}, r"\$\.dtype"),
        ({"mesh": {"tensor": 0}}, "tensor must be at least 1"),
        ({"mesh": {"tensor": True}}, r"\$\.mesh\.tensor"),
        ({"mesh": {"rows": 2}}, "rows"),
    ],
)
def test_bad_engine_args_are_named(values: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_engine_args(values)


def test_rows_share_what_they_are_equal_in() -> None:
    model = ready(engine())
    rows = [row(1, 2), row(1, 2, readout=TOKENS), row(1, 2, readout=SUM)]
    (batch,) = model.batches(rows)
    assert batch.count == 1
    assert [value.tolist() for value in model.run(rows, batch)] == [12.0, [4.0, 8.0], 12.0]
