"""Which reference a package gets, and the references that come with the project."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from checkpoints.fixtures import configs
from checkpoints.golden import Entry, Expected, Reference, References, add_entry, packaged
from checkpoints.tables.embedded import MINI, MINILM
from checkpoints.tables.entry import BuiltIn
from checkpoints.tables.vela1 import VELA1
from checkpoints.tables.vela2 import VELA2

SHA = "a" * 64
VALUES = {"rerank": {"0.logit": 1.5}}
ENTRY = Entry(
    model_sha256=SHA,
    answers={"cpu": VALUES, "cuda": VALUES},
    partial={"cuda": ["rerank"]},
    tolerances={"rerank": {"cpu": 1e-4}},
)
RECORDED = dict(packaged())


def test_identity_and_device_class_decide() -> None:
    references = References([("acme/ranker", ENTRY)])
    own = {"cpu": 1e-4}
    name = f"acme/ranker@{SHA}"
    assert references.find(SHA, "cpu") == Reference(name, {"rerank": Expected(VALUES["rerank"], False, own)})
    assert references.find(SHA, "cuda") == Reference(name, {"rerank": Expected(VALUES["rerank"], True, own)})
    assert references.find(SHA, "rocm") is None
    assert references.find("b" * 64, "cpu") is None


def test_a_revision_names_the_reference() -> None:
    entry = Entry(model_sha256=SHA, revision="d" * 40, answers={"cpu": VALUES})
    found = References([("acme/ranker", entry)]).find(SHA, "cpu")
    assert found is not None
    assert found.name == f"acme/ranker@{'d' * 40}"


def test_the_operators_files_go_before_those_of_the_project(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    add_entry(path, "mine", Entry(model_sha256=MINILM.model_sha256, answers={"cpu": {"embeddings": {"0.0": 1.0}}}))
    found = References.read([path]).find(MINILM.model_sha256, "cpu")
    assert found is not None
    assert found.name.startswith("mine@")
    assert References.read([path]).find(VELA1[1].model_sha256, "cpu") is not None


@pytest.mark.parametrize(
    "pinned", [entry for entry in (*VELA1, *VELA2) if entry.repo in RECORDED], ids=lambda entry: entry.name
)
def test_recorded_answers_of_built_in_models_carry_their_pins(pinned: BuiltIn) -> None:
    recorded = RECORDED[pinned.repo]
    assert (recorded.model_sha256, recorded.revision) == (pinned.model_sha256, pinned.revision)


def test_what_is_recorded() -> None:
    names = {name.rpartition("-")[2] for name in RECORDED if name.startswith("vllm-sr/Vela-1.0")}
    assert names == {
        "FactCheck",
        "Feedback",
        "Guard",
        "Modality",
        "Safety",
        "Shield",
        "Hazard",
        "PII",
        "Halu",
        "Reranker",
    }
    assert {entry.repo for entry in VELA2} <= set(RECORDED)
    own = {model.name for model in MINI}
    assert set(RECORDED) - {entry.repo for entry in (*VELA1, *VELA2)} == {MINILM.repo, *own}
    assert all(RECORDED[model.name].model_sha256 == model.model_sha256 for model in MINI)
    partial = {name: entry.partial for name, entry in RECORDED.items() if entry.partial}
    assert partial == {"vllm-sr/Vela-1.0-Encoder-307M-Hazard": {"cpu": ["texts"]}}


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("FactCheck", configs.FACT_CHECK),
        ("Feedback", configs.FEEDBACK),
        ("Guard", configs.GUARD),
        ("Modality", configs.MODALITY),
        ("Safety", configs.SAFETY),
        ("Shield", configs.SAFETY),
    ],
)
def test_recorded_probabilities_are_whole(name: str, labels: tuple[str, ...]) -> None:
    values = RECORDED[f"vllm-sr/Vela-1.0-Encoder-307M-{name}"].answers["cpu"]["texts"]
    assert list(values) == [f"{index}.probabilities.{label}" for index in range(2) for label in labels]
    for index in range(2):
        assert sum(values[f"{index}.probabilities.{label}"] for label in labels) == pytest.approx(1, abs=1e-6)


def test_recorded_scores_and_spans() -> None:
    hazard, pii, halu = (RECORDED[f"vllm-sr/Vela-1.0-Encoder-307M-{name}"] for name in ("Hazard", "PII", "Halu"))
    scores = hazard.answers["cpu"]["texts"]
    assert list(scores)[:12] == [f"0.scores.{label}" for label in configs.HAZARD]
    assert {key: scores[key] for key in list(scores)[12:]} == {
        "1.scores.violence": 4.0852439e-4,
        "1.scores.privacy": 0.3491002023,
    }
    assert set(pii.answers["cpu"]["texts"]) == {"1.span.0.PHONE_NUMBER.24.35", "1.span.1.GPE.53.59"}
    assert halu.answers["cpu"]["grounded"] == {"0.span.0.hallucinated.27.32": 0.9573665857}


def test_the_default_models_vectors_have_norm_one() -> None:
    entry = RECORDED[MINILM.repo or ""]
    assert entry.model_sha256 == MINILM.model_sha256
    values = entry.answers["cpu"]["embeddings"]
    assert list(values) == [f"{index}.{component}" for index in range(2) for component in range(384)]
    for index in range(2):
        vector = [values[f"{index}.{component}"] for component in range(384)]
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-6)
