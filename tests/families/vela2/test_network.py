"""The network and the whole path against torch, and bits that do not depend on company."""

from __future__ import annotations

import json
import math
import time
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx

from checkpoints.fixtures import TINY_VELA2, write_fixture
from checkpoints.models import build_model
from checkpoints.package import LoadedPackage, load, resolve, verify
from checkpoints.registry import REGISTRY
from tests.families.vela2.reference import Question, Read, Reference, label_runs, probabilities, softmax
from vela_jax.backbones.modernbert import ModernBertConfig
from vela_jax.contract import Surface
from vela_jax.families.vela2.network import EncoderNetwork
from vela_jax.families.vela2.plan import DecisionsPlan
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.network import pure_network
from vela_jax.heads.markers import MarkerConfig, MarkerReadout
from vela_jax.surfaces.requests import DecisionsRequest

LIMIT = 256
ARGS = EngineArgs(warmup=(), background=(), row_buckets=(1,), length_buckets=(LIMIT,))
FEW = EngineArgs(warmup=(), background=(), row_buckets=(1, 2), length_buckets=(64,))
WORDS = ("doctor", "asked", "Tom", "about", "medicine", "price", "in", "Berlin", "today", "and", "left")
SHORT = "Tom asked the doctor in Berlin about medicine"
LONG = " ".join(WORDS[index * index % len(WORDS)] for index in range(150))
STATE = {"request": SHORT, "source": "the price of medicine in Paris", "answer": "Tom left Berlin today"}
PARTS = {"user": STATE["request"], "context": STATE["source"], "answer": STATE["answer"]}


@pytest.fixture(scope="module", params=TINY_VELA2)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_fixture(tmp_path_factory.mktemp("vela2") / request.param, request.param)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "max_length": LIMIT, "window_overlap": 16}))
    (path / "SHA256SUMS").unlink()
    return path


@cache
def loaded(folder: Path) -> LoadedPackage:
    return load(verify(resolve(str(folder))))


@cache
def engine(folder: Path) -> BucketEngine:
    package = loaded(folder)
    return BucketEngine(pure_network(package.graphdef, package.params, LIMIT), ARGS, jax.devices("cpu")[0])


def body_of(folder: Path, questions: dict[str, Any], state: Any) -> dict[str, Any]:
    plan = build_model(loaded(folder), "cpu").plan(
        Surface.DECISIONS, DecisionsRequest(state=state, questions=questions)
    )
    assert isinstance(plan, DecisionsPlan)
    running = engine(folder)
    for future in running.prepare(plan.rows):
        future.result()
    results: list[Any] = [None] * len(plan.rows)
    for batch in running.batches(plan.rows):
        for index, output in zip(batch.indices, running.run(plan.rows, batch), strict=True):
            results[index] = output
    return plan.assemble(results).body


def question(key: str, kind: str, text: str, options: list[str], *roles: str, part: str = "") -> Question:
    return {"id": key, "type": kind, "text": text, "options": options, "roles": roles, "part": part}


CHOICE = {"type": "choice", "instructions": "Which city?", "criteria": {"a": "Berlin", "b": None, "c": "Rome or Paris"}}
SCORE = {"type": "score", "instructions": "How costly?", "criteria": ["cheap", "fair", "dear"], "over": "source"}
SET = {
    "type": "set",
    "instructions": "What is named?",
    "criteria": {"m": "medicine", "p": "a price"},
    "over": ["request", "answer"],
}
SPAN = {"type": "span", "instructions": "Find", "criteria": {"WHO": "a person", "CITY": "a town"}, "threshold": 0.5}
ASKED = [
    question("c", "choice", "Which city?", ["a: Berlin", "b", "c: Rome or Paris"], "user", "context", "answer"),
    question("s", "score", "How costly?", ["cheap", "fair", "dear"], "context"),
    question("t", "set", "What is named?", ["m: medicine", "p: a price"], "user", "answer"),
]


def check_choice(answer: dict[str, Any], read: Read, temperature: float = 1.3) -> None:
    assert read.options is not None
    logits = read.options.tolist()
    expected = softmax(logits[:-1], temperature)
    assert list(answer["probabilities"].values()) == pytest.approx(expected, abs=1e-4)
    assert list(answer["probabilities"])[expected.index(max(expected))] == answer["choice"]
    assert answer["abstain_probability"] == pytest.approx(softmax(logits, temperature)[-1], abs=1e-4)


def check_span(body: dict[str, Any], key: str, read: Read, text: str) -> None:
    assert read.logits is not None
    assert body["answers"][key]["noul"] == pytest.approx(float(probabilities(read.logits, 0.4).max()), abs=1e-4)
    names = ["WHO", "CITY"]
    found = [(names.index(span["label"]), span["start"], span["end"]) for span in body["spans"][key]]
    assert found == label_runs(read, 0.4, 0.5, text)


def test_all_types_in_one_row(folder: Path) -> None:
    body = body_of(folder, {"c": CHOICE, "s": SCORE, "t": SET, "w": SPAN}, STATE)
    labels = question("w", "span", "", ["WHO: a person", "CITY: a town"], "answer", part=STATE["answer"])
    read = Reference(folder).read([*ASKED, labels], PARTS, None)
    check_choice(body["answers"]["c"], read["c"])
    check_span(body, "w", read["w"], STATE["answer"])
    scores, logits = read["s"].options, read["t"].options
    assert scores is not None
    assert logits is not None
    assert list(body["answers"]["s"]["probabilities"].values()) == pytest.approx(
        softmax(scores.tolist(), 1.1), abs=1e-4
    )
    assert list(body["sets"]["t"]["probabilities"].values()) == pytest.approx(
        probabilities(logits, 1.05).tolist(), abs=1e-4
    )


def test_a_long_text_in_windows(folder: Path) -> None:
    body = body_of(folder, {"c": CHOICE, "w": SPAN}, LONG)
    assert body["usage"]["input_tokens"] > LIMIT
    asked = [
        question("c", "choice", "Which city?", ["a: Berlin", "b", "c: Rome or Paris"], "user"),
        question("w", "span", "", ["WHO: a person", "CITY: a town"], "user", part=LONG),
    ]
    read = Reference(folder).read(asked, {"user": LONG}, "user")
    check_choice(body["answers"]["c"], read["c"])
    check_span(body, "w", read["w"], LONG)


def test_the_released_size_has_the_pinned_number_of_parameters() -> None:
    sizes = {"hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152}
    config = ModernBertConfig.from_package({**sizes, "vocab_size": 256_008, "max_position_embeddings": 32768})
    head = MarkerConfig(768, 256, MarkerReadout.BOTH)
    network = nnx.eval_shape(lambda: EncoderNetwork(config, head, rngs=nnx.Rngs(0)))
    entry = REGISTRY.find("Vela-2.0-0.3B")
    assert entry is not None
    assert sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(nnx.state(network, nnx.Param))) == entry.parameters


def test_rows_have_their_bits_alone_and_in_company(tmp_path: Path) -> None:
    package = loaded(write_fixture(tmp_path / "both", "vela2_both"))
    model = build_model(package, "cpu")
    running = BucketEngine(pure_network(package.graphdef, package.params, 64), FEW, jax.devices("cpu")[0])
    questions = {"n": {"type": "noul", "instructions": "So?", "criteria": {"true": "t", "false": "f"}}, "w": SPAN}
    texts = ("Tom asked", "the doctor", "in Berlin today", "a")
    rows = [row for text in texts for row in model.plan(Surface.DECISIONS, request(text, questions)).rows]
    for future in running.prepare(rows):
        future.result()
    alone = [running.run([row], running.batches([row])[0])[0] for row in rows]
    running.fill()
    until = time.monotonic() + 60
    while not any(2 in (line["rows"] + line["rejected"]) for line in running.report()) and time.monotonic() < until:
        time.sleep(0.1)
    running.close(None)
    for batch in running.batches(rows):
        for index, output in zip(batch.indices, running.run(rows, batch), strict=True):
            assert np.array_equal(output, alone[index])
    assert len(running.report()[0]["rows"]) > 1


def request(state: Any, questions: dict[str, Any]) -> DecisionsRequest:
    return DecisionsRequest(state=state, questions=questions)
