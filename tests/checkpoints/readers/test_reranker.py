"""Reranker packages: exits, scorers, the default exit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from checkpoints.files import PackageError
from checkpoints.readers.classifier import FIVE_FILES
from tests.checkpoints.conftest import Edit, MakePackage
from tests.checkpoints.readers.test_task_heads import read
from vela_jax.families.task_heads.spec import Exit, RelevanceSpec

MATRYOSHKA = "matryoshka_config.json"
SCORERS = "classification_heads.safetensors"
ALL = (Exit(2, 64), Exit(2, 32), Exit(4, 64), Exit(4, 32))


def relevance(path: Path, **options: Any) -> RelevanceSpec:
    spec = read(path, **options).spec
    assert isinstance(spec, RelevanceSpec)
    return spec


def change_scorers(path: Path, changes: dict[str, Any]) -> None:
    tensors = {**load_file(path / SCORERS), **changes}
    save_file({key: value for key, value in tensors.items() if value is not None}, path / SCORERS)


def test_a_reranker(originals: MakePackage) -> None:
    reading = read(originals("reranker"))
    spec = relevance(originals("reranker"))
    assert spec.exits == ALL
    assert spec.default == Exit(4, 64)
    assert reading.files == (*FIVE_FILES, MATRYOSHKA, SCORERS)
    assert reading.weight_prefix == ""


def test_the_default_exit_may_be_chosen(originals: MakePackage) -> None:
    assert relevance(originals("reranker"), pair_scorer={"layer": 2, "dimension": 32}).default == Exit(2, 32)
    with pytest.raises(PackageError, match="option pair_scorer is layer 3, dimension 32, which is not served; served"):
        read(originals("reranker"), pair_scorer={"layer": 3, "dimension": 32})


def test_an_exit_without_all_tensors_is_not_served(make_package: MakePackage) -> None:
    path = make_package("reranker")
    change_scorers(path, {"2.32.3.bias": None, "9.9.0.weight": np.zeros(1, np.float32)})
    assert relevance(path).exits == (Exit(2, 64), Exit(4, 64), Exit(4, 32))


def test_the_default_exit_must_be_served(make_package: MakePackage) -> None:
    path = make_package("reranker")
    change_scorers(path, {"4.64.0.bias": None})
    with pytest.raises(PackageError, match="the default exit is layer 4, dimension 64, which is not served"):
        read(path)
    assert relevance(path, pair_scorer={"layer": 4, "dimension": 32}).default == Exit(4, 32)


def test_a_reranker_without_scorers_is_refused(make_package: MakePackage) -> None:
    path = make_package("reranker")
    save_file({"x": np.zeros(1, np.float32)}, path / SCORERS)
    with pytest.raises(PackageError, match="has the tensors of no exit"):
        read(path)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("4.64.0.weight", np.zeros((32, 64), np.float16)),
        ("4.64.0.weight", np.zeros((64, 32), np.float32)),
        ("4.64.0.bias", np.zeros((64,), np.float32)),
        ("2.32.3.weight", np.zeros((16,), np.float32)),
        ("2.32.3.bias", np.zeros((), np.float32)),
    ],
)
def test_wrong_scorers_are_refused(make_package: MakePackage, name: str, tensor: Any) -> None:
    path = make_package("reranker")
    change_scorers(path, {name: tensor})
    with pytest.raises(PackageError, match=rf"classification_heads\.safetensors: {name} must be F32"):
        read(path)


def test_truncated_scorers_are_refused(make_package: MakePackage) -> None:
    path = make_package("reranker")
    content = (path / SCORERS).read_bytes()
    (path / SCORERS).write_bytes(content[:-1])
    with pytest.raises(PackageError, match=r"classification_heads\.safetensors is not a sound .* truncated"):
        read(path)


def test_other_architectures_are_refused(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("reranker")
    edit(path / "config.json", {"architectures": ["ModernBertModel", "ModernBertModel"]})
    with pytest.raises(PackageError, match=r"architectures must be exactly \['ModernBertModel'\]"):
        read(path)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("version", 2),
        ("version", True),
        ("pooling", "mean"),
        ("intermediate_normalization", "none"),
        ("final_normalization", "none"),
        ("head_dtype", "bfloat16"),
        ("extra", 1),
        ("pooling", ...),
    ],
)
@pytest.mark.parametrize("name", ["config.json", MATRYOSHKA])
def test_other_contracts_are_refused(make_package: MakePackage, edit: Edit, name: str, member: str, value: Any) -> None:
    path = make_package("reranker")
    contract = {**json.loads((path / name).read_text())["representation_contract"], member: value}
    edit(path / name, {"representation_contract": {key: item for key, item in contract.items() if item is not ...}})
    with pytest.raises(PackageError, match=rf"{name}: representation_contract must be"):
        read(path)


def test_only_the_config_must_have_a_contract(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("reranker")
    edit(path / MATRYOSHKA, {"representation_contract": ..., "has_final_norm": ...})
    assert relevance(path).exits == ALL
    edit(path / "config.json", {"representation_contract": ...})
    with pytest.raises(PackageError, match=r"representation_contract must be .* it is missing"):
        read(path)


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"hidden_size": 65}, "hidden_size"),
        ({"hidden_size": ...}, "hidden_size"),
        ({"num_layers": 5}, "num_layers"),
        ({"pooling_strategy": "mean"}, "pooling_strategy"),
        ({"has_final_norm": False}, "has_final_norm"),
        ({"layer_indices": []}, "layer_indices"),
        ({"layer_indices": ...}, "layer_indices"),
        ({"layer_indices": [0]}, "layer_indices"),
        ({"layer_indices": [5]}, "layer_indices"),
        ({"layer_indices": [4, 4]}, "layer_indices"),
        ({"layer_indices": [4.0]}, "layer_indices"),
        ({"layer_indices": 4}, "layer_indices"),
        ({"dim_indices": [1]}, "dim_indices"),
        ({"dim_indices": [65]}, "dim_indices"),
        ({"dim_indices": [True]}, "dim_indices"),
    ],
)
def test_bad_exits_are_refused(make_package: MakePackage, edit: Edit, changes: dict[str, Any], member: str) -> None:
    path = make_package("reranker")
    edit(path / MATRYOSHKA, changes)
    with pytest.raises(PackageError, match=rf"matryoshka_config\.json: {member} must be"):
        read(path)


def test_graphs_are_hashed_where_they_are_found(make_package: MakePackage) -> None:
    path = make_package("reranker")
    names = (
        "onnx/model.onnx",
        "onnx/model_layer_4_dim_64.onnx",  # after model.onnx for the full exit
        "onnx/model_layer_4_dim_32.onnx",
        "onnx/layer-2/dim-64/model.onnx",
        "onnx/layer-3/dim-64/model.onnx",  # no exit
        "onnx/weights.data",
    )
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"")
    graphs = {name for name in read(path).files if name.startswith("onnx/")}
    assert graphs == {names[0], names[2], names[3], names[5]}
