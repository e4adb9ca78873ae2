"""The golden check on a whole server: matched, unverified and failed models beside each other; what is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import load_file as load_tensors
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification

from checkpoints.golden import Entry, add_entry, packaged, read_entries
from checkpoints.package import convert
from checkpoints.tables.embedded import MINILM
from serving.assembly import Assembler
from serving.config import ModelEntry, PackageSources
from serving.golden.cases import HYPOTHESIS, TEXTS
from tests.end_to_end.asking import ask, classify, embed, refusal
from tests.end_to_end.packages import HANDED, edit, write_small
from tests.end_to_end.server import FEW_BUCKETS, running
from tests.end_to_end.test_minilm import sentence_vector

STORED: Final = Path(__file__).parents[1] / "data" / "golden" / "packages.json"


def write_tampered_reference(path: Path) -> Path:
    """The stored answers of `pii` with one value moved by 0.002."""
    entry = json.loads(STORED.read_text(encoding="utf-8"))["pii"]
    values = entry["answers"]["cpu"]["texts"]
    values[next(iter(values))] -= 0.002
    path.write_text(json.dumps({"pii": entry}), encoding="utf-8")
    return path


def write_tampered_weights(root: Path) -> Path:
    """A converted copy that claims to be the handed embedder, and whose weights are others."""
    source = root / "source"
    source.mkdir()
    for path in HANDED.joinpath("embed").rglob("*"):
        target = source / path.relative_to(HANDED / "embed")
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    weights = load_file(source / "model.safetensors")
    name = next(name for name in weights if name.endswith("mlp.Wo.weight"))
    weights[name] = weights[name] * weights[name].dtype.type(1.25)
    save_file(weights, source / "model.safetensors", metadata={"format": "pt"})
    copy = convert(str(source), root / "tampered-weights")
    edit(copy / "converted.json", {"model_sha256": read_entries(STORED)["embed"].model_sha256})
    return copy


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    root = tmp_path_factory.mktemp("golden")
    entries = [
        ModelEntry(model=MINILM.name),
        ModelEntry(model=str(HANDED / "nli"), name="nli"),
        ModelEntry(model=str(HANDED / "embed"), name="embed"),
        ModelEntry(model=str(HANDED / "pii"), name="tampered-reference"),
        ModelEntry(model=str(write_tampered_weights(root)), name="tampered-weights"),
        ModelEntry(model=str(write_small(root / "guard", "guard", 96)), name="unknown"),
    ]
    files = (write_tampered_reference(root / "tampered.json"), STORED)
    assembler = Assembler(PackageSources(offline=True, golden_files=files), FEW_BUCKETS)
    with (
        running(entries, wrap=lambda _: assembler.load) as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        yield client


def cards(client: httpx.Client) -> dict[str, dict[str, Any]]:
    return {card["id"]: card for card in client.get("/v1/models").json()["data"]}


def test_the_default_model_is_ready_and_matched(client: httpx.Client) -> None:
    card = cards(client)[MINILM.name]
    assert (card["ready"], card["status"], card["reason"]) == (True, "ready", None)
    reference = f"{MINILM.repo}@{MINILM.model_sha256}"
    assert card["golden"] == {"status": "matched", "checked": 2, "matched": 2, "reference": reference}


def test_packages_with_stored_answers_are_matched(client: httpx.Client) -> None:
    found = {name: cards(client)[name]["golden"] for name in ("nli", "embed")}
    counts = {name: (each["status"], each["checked"], each["matched"]) for name, each in found.items()}
    assert counts == {"nli": ("matched", 6, 6), "embed": ("matched", 2, 2)}
    for name, entry in read_entries(STORED).items():
        if name in found:
            assert found[name]["reference"] == f"{name}@{entry.model_sha256}"


def test_a_package_without_stored_answers_is_unverified_and_ready(client: httpx.Client) -> None:
    card = cards(client)["unknown"]
    assert card["ready"]
    assert card["golden"] == {"status": "unverified", "checked": 0, "matched": 0, "reference": None}


@pytest.mark.parametrize(
    ("name", "case", "path", "body"),
    [
        ("tampered-reference", "texts", "/v1/classify", {"input": "a"}),
        ("tampered-weights", "embeddings", "/v1/embeddings", {"input": "a"}),
    ],
)
def test_a_mismatch_fails_the_model_with_its_reason(
    client: httpx.Client, name: str, case: str, path: str, body: dict[str, Any]
) -> None:
    card = cards(client)[name]
    assert (card["ready"], card["status"]) == (False, "failed")
    golden = card["golden"]
    assert (golden["status"], golden["checked"], golden["matched"]) == ("failed", 2, 0)
    reason = card["reason"]
    assert reason.startswith(f"GoldenCheckFailed: readiness request {case!r}: 0.")
    assert " expected " in reason
    assert reason.endswith(f"(reference {golden['reference']})")
    message = refusal(client.post(path, json={"model": name, **body}), 503, "not_ready")
    assert reason in message


def test_the_process_stays_up_and_the_other_models_serve(client: httpx.Client) -> None:
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "degraded")
    states = {name: each["status"] for name, each in health.json()["models"].items()}
    assert states == {
        MINILM.name: "ready",
        "nli": "ready",
        "embed": "ready",
        "tampered-reference": "failed",
        "tampered-weights": "failed",
        "unknown": "ready",
    }
    assert health.json()["reason"].startswith("tampered-reference: GoldenCheckFailed: readiness request 'texts'")
    assert client.get("/health/live").status_code == 200
    assert "embedding" in embed(client, MINILM.name, "a")[0]
    assert "embedding" in embed(client, "embed", "a")[0]
    assert "label" in classify(client, "unknown", "a")[0]
    question = {"type": "noul", "instructions": "This is about cats."}
    answer = ask(client, "/v1/decisions", {"model": "nli", "state": "a cat", "questions": {"q": question}})
    assert 0 <= answer["answers"]["q"]["noul"] <= 1


def test_an_entry_that_asks_for_another_exit_is_not_judged_by_the_released_one(tmp_path: Path) -> None:
    ranker = str(write_small(tmp_path / "ranker", "reranker", 96))
    plain = Assembler(PackageSources(offline=True), FEW_BUCKETS).load(ModelEntry(model=ranker), _hear_nothing)
    assert plain.reference is None
    recorded = Entry(model_sha256=plain.provenance.model_sha256, answers={"cpu": {"rerank": {"0.logit": 1.0}}})
    file = tmp_path / "file.json"
    add_entry(file, "ranker", recorded)
    assembler = Assembler(PackageSources(offline=True, golden_files=(file,)), FEW_BUCKETS)
    released = assembler.load(ModelEntry(model=ranker), _hear_nothing)
    other = ModelEntry(model=ranker, options={"pair_scorer": {"layer": 2, "dimension": 32}})
    assert released.reference is not None
    assert assembler.load(other, _hear_nothing).reference is None


def _hear_nothing(stage: str, done: int, total: int) -> None:
    pass


# What is recorded, against computations of other libraries


def test_the_default_models_recorded_vectors_are_those_of_its_weights() -> None:
    values = dict(packaged())[MINILM.repo or ""].answers["cpu"]["embeddings"]
    package = MINILM.locate()
    tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tensors = load_tensors(package / "model.safetensors").items()
    weights = {name: tensor.double() for name, tensor in tensors if tensor.is_floating_point()}
    vectors = [sentence_vector(weights, tokenizer.encode(text).ids).numpy() for text in TEXTS]
    recorded = [[values[f"{index}.{component}"] for component in range(384)] for index in range(len(TEXTS))]
    assert np.abs(np.array(recorded) - np.stack(vectors)).max() <= 1e-5


def test_the_stored_answers_of_an_entailment_package_are_those_of_transformers() -> None:
    package = HANDED / "nli"
    tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    network = AutoModelForSequenceClassification.from_pretrained(package, attn_implementation="eager").eval()
    labels = [network.config.id2label[index] for index in range(3)]

    def logits(text: str, pair: str | None = None) -> torch.Tensor:
        with torch.no_grad():
            row: torch.Tensor = network(input_ids=torch.tensor([tokenizer.encode(text, pair).ids])).logits[0]
        return row.double()

    def named(index: int, row: torch.Tensor) -> dict[str, float]:
        keys = [f"{index}.probabilities.{label}" for label in labels]
        return dict(zip(keys, torch.softmax(row, -1).tolist(), strict=True))

    about = HYPOTHESIS.replace("programming", "{}")
    options = [logits(TEXTS[0], about.format(label)) for label in ("programming", "mathematics")]
    choice = torch.softmax(torch.stack([row[labels.index("Entailment")] for row in options]), -1).tolist()
    expected = {
        "texts": named(0, logits(TEXTS[0])) | named(1, logits(TEXTS[1])),
        "pair": named(0, options[0]),
        "decisions": {"topic.choice.code": choice[0], "topic.choice.math": choice[1]},
    }
    stored = read_entries(STORED)["nli"].answers["cpu"]
    assert set(stored) == set(expected)
    for case, values in expected.items():
        assert stored[case] == pytest.approx(values, abs=1e-5)
