"""Sentence-transformers packages with a BERT backbone."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.files import PackageError
from checkpoints.identity import SENTENCE_BERT
from tests.checkpoints.conftest import Edit, MakePackage
from tests.checkpoints.readers.test_embedder import MODULE, POOLING, pooled
from tests.checkpoints.readers.test_task_heads import read
from vela_jax.heads.pooling import Pooling

LIMITS = "sentence_bert_config.json"


def test_a_package(originals: MakePackage) -> None:
    reading = read(originals("sentence_bert"))
    spec = pooled(originals("sentence_bert"))
    assert reading.model_type == "bert"
    assert reading.identity_label == SENTENCE_BERT
    assert reading.max_input_tokens == 96
    assert (spec.pooling, spec.layers, spec.dimensions, spec.normalized) == (Pooling.MEAN, (3,), (64,), True)
    assert spec.prompts == {}
    assert len(reading.files) == 9


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [
        ({"max_seq_length": 32}, 32),
        ({"max_seq_length": 128}, 128),
        ({"max_seq_length": 512}, 128),  # there are 128 positions
        ({"max_seq_length": None}, 128),
        ({}, 128),
        ({"do_lower_case": False, "other": 1}, 128),
    ],
)
def test_the_limit(make_package: MakePackage, limits: dict[str, Any], tokens: int) -> None:
    path = make_package("sentence_bert")
    (path / LIMITS).write_text(json.dumps(limits))
    assert read(path).max_input_tokens == tokens


def test_without_limits_positions_decide(make_package: MakePackage) -> None:
    path = make_package("sentence_bert")
    (path / LIMITS).unlink()
    assert read(path).max_input_tokens == 128
    assert LIMITS not in read(path).files


@pytest.mark.parametrize(
    "limits",
    [{"max_seq_length": 0}, {"max_seq_length": "32"}, {"max_seq_length": True}, {"do_lower_case": True}, []],
)
def test_bad_limits_are_refused(make_package: MakePackage, limits: Any) -> None:
    path = make_package("sentence_bert")
    (path / LIMITS).write_text(json.dumps(limits))
    with pytest.raises(PackageError, match=r"sentence_bert_config\.json"):
        read(path)


def modules(path: Path, *names: str) -> None:
    (path / "modules.json").write_text(json.dumps([{"type": MODULE + name} for name in names]))


def test_normalizing_is_optional(make_package: MakePackage) -> None:
    path = make_package("sentence_bert")
    modules(path, "Transformer", "Pooling")
    assert not pooled(path).normalized


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("Transformer",),
        ("Pooling", "Transformer"),
        ("Transformer", "Normalize", "Pooling"),
        ("Transformer", "Pooling", "Dense"),
        ("Transformer", "Pooling", "Normalize", "Normalize"),
    ],
)
def test_other_stacks_are_refused(make_package: MakePackage, names: tuple[str, ...]) -> None:
    path = make_package("sentence_bert")
    modules(path, *names)
    with pytest.raises(PackageError, match=r"modules\.json: the modules must be"):
        read(path)


def test_cls_pooling(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("sentence_bert")
    edit(path / POOLING, {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True})
    assert pooled(path).pooling is Pooling.CLS


def test_last_token_pooling_is_refused(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("sentence_bert")
    edit(path / POOLING, {"pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True})
    with pytest.raises(PackageError, match=r"1_Pooling/config\.json: a BERT encoder is pooled by mean or cls"):
        read(path)


@pytest.mark.parametrize(
    ("member", "value"), [("position_embedding_type", "relative_key"), ("is_decoder", True), ("hidden_act", "gelu_new")]
)
def test_other_berts_are_refused(make_package: MakePackage, edit: Edit, member: str, value: Any) -> None:
    path = make_package("sentence_bert")
    edit(path / "config.json", {member: value})
    with pytest.raises(PackageError, match=rf"config\.json: {member}"):
        read(path)


def test_prompts_are_read(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("sentence_bert")
    edit(path / "config_sentence_transformers.json", {"prompts": {"query": "query: "}})
    assert pooled(path).prompts == {"query": "query: "}
