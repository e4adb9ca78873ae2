"""Embedder packages: pooling, modules, exits, dimensions, prompts."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.files import PackageError
from tests.checkpoints.conftest import Edit, MakePackage
from tests.checkpoints.readers.test_task_heads import read
from vela_jax.families.task_heads.spec import PooledSpec
from vela_jax.heads.pooling import Pooling

POOLING = "1_Pooling/config.json"
MODES = ("pooling_mode_mean_tokens", "pooling_mode_cls_token", "pooling_mode_lasttoken")
MODULE = "sentence_transformers.models."


def pooled(path: Path) -> PooledSpec:
    spec = read(path).spec
    assert isinstance(spec, PooledSpec)
    return spec


def test_a_modernbert_embedder(originals: MakePackage) -> None:
    reading = read(originals("embedding"))
    spec = pooled(originals("embedding"))
    assert spec.pooling is Pooling.MEAN
    assert spec.layers == (1, 2, 4)
    assert spec.dimensions == (64,)
    assert spec.normalized
    assert not spec.final_norm_exits
    assert dict(spec.prompts) == {"document": "", "query": "search: "}
    assert reading.weight_prefix == ""
    assert set(reading.files) == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "1_Pooling/config.json",
        "modules.json",
        "config_sentence_transformers.json",
        "onnx/model_layer_1.onnx",
        "onnx/model_layer_2.onnx",
        "onnx/model.onnx",
    }


def test_a_qwen3_embedder(originals: MakePackage) -> None:
    reading = read(originals("qwen3_embedding"))
    spec = pooled(originals("qwen3_embedding"))
    assert reading.model_type == "qwen3"
    assert spec.pooling is Pooling.LAST_TOKEN
    assert spec.layers == (3,)
    assert spec.dimensions == (64,)
    assert set(spec.prompts) == {"document", "query"}


def test_optional_files_may_be_absent(make_package: MakePackage) -> None:
    path = make_package("qwen3_embedding")
    for name in ("special_tokens_map.json", "tokenizer_config.json", "config_sentence_transformers.json"):
        (path / name).unlink()
    assert set(read(path).files) == {"config.json", "model.safetensors", "tokenizer.json", POOLING, "modules.json"}
    assert pooled(path).prompts == {}


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("variant", ["embedding", "qwen3_embedding", "sentence_bert"])
def test_what_is_loaded_is_required(make_package: MakePackage, variant: str, name: str) -> None:
    path = make_package(variant)
    (path / name).unlink()
    with pytest.raises(PackageError, match=f"{name}: missing"):
        read(path)


@pytest.mark.parametrize(
    ("mode", "pooling"), list(zip(MODES, (Pooling.MEAN, Pooling.CLS, Pooling.LAST_TOKEN), strict=True))
)
def test_pooling_modes(make_package: MakePackage, edit: Edit, mode: str, pooling: Pooling) -> None:
    path = make_package("embedding")
    edit(path / "config.json", {"representation_contract": ...})
    edit(path / POOLING, {name: name == mode for name in MODES})
    assert pooled(path).pooling is pooling


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"pooling_mode_mean_tokens": False}, "exactly one of .* must be true, found 0"),
        ({"pooling_mode_mean_tokens": ...}, "exactly one of .* must be true, found 0"),
        ({"pooling_mode_cls_token": True}, "exactly one of .* must be true, found 2"),
        ({"pooling_mode_mean_tokens": 1}, "pooling_mode_mean_tokens must be True or False"),
        ({"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens must be False"),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, "pooling_mode_mean_sqrt_len_tokens must be False"),
        ({"pooling_mode_weightedmean_tokens": True}, "pooling_mode_weightedmean_tokens must be False"),
        ({"word_embedding_dimension": 65}, "word_embedding_dimension must be 64"),
        ({"word_embedding_dimension": "64"}, "word_embedding_dimension must be 64"),
    ],
)
def test_bad_pooling_is_refused(make_package: MakePackage, edit: Edit, changes: dict[str, Any], fault: str) -> None:
    path = make_package("embedding")
    edit(path / POOLING, changes)
    with pytest.raises(PackageError, match=rf"1_Pooling/config\.json: {fault}"):
        read(path)


def test_the_width_defaults_to_that_of_the_backbone(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("embedding")
    edit(path / POOLING, {"word_embedding_dimension": ...})
    assert pooled(path).dimensions == (64,)


@pytest.mark.parametrize(
    ("types", "normalized"),
    [
        ([], False),
        (["Transformer", "Pooling"], False),
        (["Transformer", "Pooling", "Normalize"], True),
        (["Transformer", "Pooling", "Dropout", "Normalize"], True),
    ],
)
def test_modules(make_package: MakePackage, types: list[str], normalized: bool) -> None:
    path = make_package("embedding")
    (path / "modules.json").write_text(json.dumps([{"type": MODULE + name} for name in types]))
    assert pooled(path).normalized is normalized


def test_modules_of_the_package_are_what_its_format_allows(make_package: MakePackage) -> None:
    path = make_package("embedding")
    (path / "modules.json").write_text('[{"type": "custom_st.Transformer"}]')
    assert not pooled(path).normalized


@pytest.mark.parametrize("name", ["Dense", "LayerNorm", "CNN", "WeightedLayerPooling"])
@pytest.mark.parametrize("variant", ["embedding", "qwen3_embedding", "sentence_bert"])
def test_modules_that_change_vectors_are_refused(make_package: MakePackage, variant: str, name: str) -> None:
    path = make_package(variant)
    modules = json.loads((path / "modules.json").read_text())
    (path / "modules.json").write_text(json.dumps([*modules, {"type": MODULE + name}]))
    with pytest.raises(PackageError, match=rf"modules\.json: .*{name}"):
        read(path)


@pytest.mark.parametrize("modules", [{}, ["a"], [{"path": ""}], [{"type": 1}]])
def test_malformed_modules_are_refused(make_package: MakePackage, modules: Any) -> None:
    path = make_package("embedding")
    (path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(PackageError, match=r"modules\.json must be a list of objects with a type"):
        read(path)


@pytest.mark.parametrize(
    ("hidden", "contract", "dimensions"),
    [
        (64, True, (64,)),
        (96, True, (96, 64)),
        (768, True, (768, 512, 256, 128, 64)),
        (1024, True, (1024, 768, 512, 256, 128, 64)),
        (768, False, (768,)),
    ],
)
def test_dimensions(
    make_package: MakePackage, edit: Edit, hidden: int, contract: bool, dimensions: tuple[int, ...]
) -> None:
    path = make_package("embedding")
    edit(path / "config.json", {"hidden_size": hidden} | ({} if contract else {"representation_contract": None}))
    edit(path / POOLING, {"word_embedding_dimension": hidden})
    assert pooled(path).dimensions == dimensions


def test_intermediate_exits_may_be_normed(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("embedding")
    contract = json.loads((path / "config.json").read_text())["representation_contract"]
    edit(path / "config.json", {"representation_contract": contract | {"intermediate_normalization": "final_norm"}})
    assert pooled(path).final_norm_exits


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("version", 2),
        ("version", True),
        ("version", ...),
        ("final_normalization", "none"),
        ("pooling", "cls"),
        ("pooling_accumulation_dtype", "bfloat16"),
        ("truncate_before_l2_normalize", False),
        ("truncate_before_l2_normalize", 1),
        ("intermediate_normalization", "l2"),
        ("intermediate_normalization", ...),
    ],
)
def test_other_contracts_are_refused(make_package: MakePackage, edit: Edit, member: str, value: Any) -> None:
    path = make_package("embedding")
    contract = {**json.loads((path / "config.json").read_text())["representation_contract"], member: value}
    contract = {key: item for key, item in contract.items() if item is not ...}
    edit(path / "config.json", {"representation_contract": contract})
    with pytest.raises(PackageError, match=rf"config\.json: representation_contract: {member} must be"):
        read(path)


def test_a_contract_asks_for_mean_pooling(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("embedding")
    edit(path / POOLING, {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True})
    with pytest.raises(PackageError, match=r"representation_contract .* asks for mean pooling, found cls"):
        read(path)


def test_a_contract_must_be_an_object(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("embedding")
    edit(path / "config.json", {"representation_contract": 1})
    with pytest.raises(PackageError, match="representation_contract must be an object"):
        read(path)


@pytest.mark.parametrize(
    ("graphs", "layers"),
    [
        ([], (4,)),
        (["model.onnx"], (4,)),
        (["model_layer_3.onnx"], (3, 4)),
        (["model_layer_4.onnx"], (4,)),
        (["model_layer_1.onnx", "model_layer_3.onnx", "model.onnx"], (1, 3, 4)),
        (["model_layer_2_dim_64.onnx", "model_layer_x.onnx", "model_layer_1.onnx.bak"], (4,)),
    ],
)
def test_exits_are_the_names_of_graphs(make_package: MakePackage, graphs: list[str], layers: tuple[int, ...]) -> None:
    path = make_package("embedding")
    for graph in (path / "onnx").iterdir():
        graph.unlink()
    for name in graphs:
        (path / "onnx" / name).write_bytes(b"")
    assert pooled(path).layers == layers


def test_the_last_graph_is_hashed_once(make_package: MakePackage) -> None:
    path = make_package("embedding")
    (path / "onnx" / "model_layer_4.onnx").write_bytes(b"")
    assert "onnx/model.onnx" in read(path).files
    assert "onnx/model_layer_4.onnx" not in read(path).files


def test_data_of_graphs_is_hashed_with_them(make_package: MakePackage) -> None:
    path = make_package("embedding")
    (path / "onnx" / "weights.data").write_bytes(b"")
    assert "onnx/weights.data" in read(path).files
    for graph in (path / "onnx").glob("*.onnx"):
        graph.unlink()
    assert "onnx/weights.data" not in read(path).files


@pytest.mark.parametrize("layer", [0, 5, 99])
def test_a_graph_of_no_layer_is_refused(make_package: MakePackage, layer: int) -> None:
    path = make_package("embedding")
    (path / "onnx" / f"model_layer_{layer}.onnx").write_bytes(b"")
    with pytest.raises(PackageError, match=rf"onnx/model_layer_{layer}\.onnx: config\.json has layers 1 to 4"):
        read(path)


@pytest.mark.parametrize(
    ("value", "prompts"),
    [
        ({}, {}),
        ({"prompts": None}, {}),
        ({"prompts": {}}, {}),
        ({"prompts": {"query": "q: ", "other": 1}}, {"query": "q: "}),
        ({"prompts": {"document": "d", "query": "q"}}, {"document": "d", "query": "q"}),
    ],
)
def test_prompts(make_package: MakePackage, value: Any, prompts: dict[str, str]) -> None:
    path = make_package("embedding")
    (path / "config_sentence_transformers.json").write_text(json.dumps(value))
    assert pooled(path).prompts == prompts


@pytest.mark.parametrize("prompts", [[], "q: ", {"query": 1}, {"document": None}])
def test_bad_prompts_are_refused(make_package: MakePackage, prompts: Any) -> None:
    path = make_package("embedding")
    (path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    with pytest.raises(PackageError, match=r"config_sentence_transformers\.json: .* must be"):
        read(path)
