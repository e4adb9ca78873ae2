"""The decoder network: released sizes, the whole path on a tiny package, trees against plain forwards, and bits."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx

from checkpoints.fixtures import write_fixture
from checkpoints.models import build_model
from checkpoints.package import LoadedPackage, load, resolve, verify
from tests.forward.networks import settle
from vela_jax.backbones.qwen3_5 import Qwen35Config
from vela_jax.contract import Row, Surface
from vela_jax.families.vela2.decoder_network import DecoderNetwork
from vela_jax.families.vela2.plan import DecisionsPlan
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.network import pure_network
from vela_jax.heads.spans import SpanConfig
from vela_jax.surfaces.requests import DecisionsRequest

LIMIT = 4096
ARGS = EngineArgs(warmup=(), background=(), row_buckets=(1, 2), length_buckets=(256, 512), max_batch_tokens=512)
STATE = {"request": "Tom asked a doctor in Berlin", "answer": "He left today"}
CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"a": "x", "b": None}, "over": "request"}
SET = {"type": "set", "instructions": "Which of them?", "criteria": {"a": "x", "b": "y"}}
SPAN = {"type": "span", "instructions": "Find", "criteria": {"WHO": "a person", "CITY": None}, "over": "request"}
HALU = {"preset": "halu"}


@pytest.mark.parametrize(
    ("hidden", "layers", "inner", "heads", "groups", "values", "parameters"),
    [
        (1024, 24, 3584, 8, 2, 16, 755_685_699),
        (2560, 32, 9216, 16, 4, 32, 4_213_980_675),
        (4096, 32, 12288, 16, 4, 32, 7_949_850_627),
    ],
)
def test_released_sizes(
    hidden: int, layers: int, inner: int, heads: int, groups: int, values: int, parameters: int
) -> None:
    config = Qwen35Config.from_package(
        {
            "vocab_size": 248_320,
            "hidden_size": hidden,
            "intermediate_size": inner,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": groups,
            "head_dim": 256,
            "max_position_embeddings": 262_144,
            "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * (layers // 4),
            "linear_num_key_heads": 16,
            "linear_num_value_heads": values,
            "linear_key_head_dim": 128,
            "linear_value_head_dim": 128,
            "linear_conv_kernel_dim": 4,
            "rope_parameters": {"rope_theta": 1e7, "partial_rotary_factor": 0.25},
        }
    )
    span = SpanConfig(256, 64)
    abstract = nnx.eval_shape(lambda: DecoderNetwork(config, 256, span, span, rngs=nnx.Rngs(0)))
    assert sum(leaf.size for leaf in jax.tree.leaves(nnx.state(abstract, nnx.Param))) == parameters


@cache
def loaded(folder: Path) -> LoadedPackage:
    return load(verify(resolve(str(folder))))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedPackage, BucketEngine]:
    package = loaded(write_fixture(tmp_path_factory.mktemp("vela2") / "decoder", "vela2_decoder"))
    return package, BucketEngine(pure_network(package.graphdef, package.params, LIMIT), ARGS, jax.devices("cpu")[0])


def body_of(engine: tuple[LoadedPackage, BucketEngine], questions: dict[str, Any], state: Any) -> dict[str, Any]:
    package, running = engine
    plan = plan_of(package, questions, state)
    return plan.assemble(outputs(running, plan.rows)).body


def plan_of(package: LoadedPackage, questions: dict[str, Any], state: Any) -> DecisionsPlan:
    plan = build_model(package, "cpu").plan(Surface.DECISIONS, DecisionsRequest(state=state, questions=questions))
    assert isinstance(plan, DecisionsPlan)
    return plan


def outputs(running: BucketEngine, rows: Sequence[Row]) -> list[Any]:
    for future in running.prepare(rows):
        future.result()
    results: list[Any] = [None] * len(rows)
    for batch in running.batches(rows):
        for index, output in zip(batch.indices, running.run(rows, batch), strict=True):
            results[index] = output
    return results


def plain_forward(package: LoadedPackage) -> Callable[[Row], Any]:
    """A row's readout by one forward over its prefix and its own tokens."""

    @jax.jit
    def readouts(params: Any, ids: jax.Array, lengths: jax.Array, marks: jax.Array) -> Any:
        network = nnx.merge(package.graphdef, params)
        (depth,) = network.depths
        states = network.backbone(ids, lengths.sum(keepdims=True), (depth,))[depth]
        own = jax.lax.dynamic_slice_in_dim(states, lengths[0], marks.shape[2], axis=1)
        return network.read(own, lengths[1:], marks)

    def read(row: Row) -> Any:
        assert row.prefix is not None
        assert row.marks is not None
        ids = np.zeros((1, 1024), np.int32)
        ids[0, : row.prefix.length + row.length] = np.concatenate([row.prefix.ids, row.ids])
        marks = np.zeros((1, len(row.marks), 512), np.int32)
        marks[0, :, : row.length] = row.marks
        lengths = np.array([row.prefix.length, row.length], np.int32)
        return np.asarray(readouts(package.params, ids, lengths, marks)[row.readout.name])[0, : row.length]

    return read


def test_a_tree_is_read_as_plain_forwards_would(engine: tuple[LoadedPackage, BucketEngine]) -> None:
    package, running = engine
    plan = plan_of(package, {"c": CHOICE, "s": SET, "p": SPAN, "h": HALU}, STATE)
    read = plain_forward(package)
    answered, expected = plan.assemble(outputs(running, plan.rows)), plan.assemble([read(row) for row in plan.rows])
    assert list(answered.body) == list(expected.body)
    np.testing.assert_allclose(numbers(answered.body), numbers(expected.body), rtol=0, atol=1e-4)


def numbers(value: Any) -> list[float]:
    """The numbers of an answer, in order."""
    if isinstance(value, dict | list):
        return [number for each in (value.values() if isinstance(value, dict) else value) for number in numbers(each)]
    return [float(value)] if isinstance(value, int | float) else []


def test_questions_run_together_and_keep_their_bits(engine: tuple[LoadedPackage, BucketEngine]) -> None:
    package, running = engine
    nouls = {f"n{index}": {"type": "noul", "instructions": "So? " * (index + 1)} for index in range(4)}
    rows = plan_of(package, {**nouls, "c": CHOICE, "s": SET, "p": SPAN}, STATE).rows
    alone = [outputs(running, [row])[0] for row in rows]
    settle(running)
    assert 2 in next(line for line in running.report() if line["length"] == 256)["rows"]
    assert any(batch.count == 2 for batch in running.batches(rows))
    for row, output in zip(alone, outputs(running, rows), strict=True):
        np.testing.assert_array_equal(row, output)


def test_a_request(engine: tuple[LoadedPackage, BucketEngine]) -> None:
    questions = {"c": CHOICE, "p": SPAN | {"threshold": 0.0}, "h": HALU}
    body = body_of(engine, questions, STATE)
    assert list(body["answers"]) == ["c", "p", "h"]
    assert sum(body["answers"]["c"]["probabilities"].values()) == pytest.approx(1)
    assert body["span_heads"] == {"p": "broad", "h": "router"}
    assert body["spans"]["p"]
    for span in body["spans"]["p"]:
        assert span["text"] == STATE["request"][span["start"] : span["end"]]
    assert body == body_of(engine, questions, STATE)


def test_an_answer_does_not_depend_on_the_other_questions(engine: tuple[LoadedPackage, BucketEngine]) -> None:
    beside = body_of(engine, {"p": SPAN, "c": CHOICE, "h": HALU}, STATE)["answers"]
    assert body_of(engine, {"c": CHOICE}, STATE)["answers"]["c"] == beside["c"]
    assert body_of(engine, {"h": HALU}, STATE)["answers"]["h"] == beside["h"]
