"""From a MODEL argument to a loaded package, by stages."""

import dataclasses
import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import load_file, save_file

from checkpoints.files import PackageError
from checkpoints.fixtures import VARIANTS, write_fixture
from checkpoints.identity import SENTENCE_BERT, model_sha256
from checkpoints.package import LOCAL, PINNED, LoadedPackage, load, resolve, verify
from checkpoints.progress import Stage
from checkpoints.resolve import EmbeddedArtifact
from checkpoints.tables.embedded import MINILM
from tests.checkpoints.conftest import Edit, MakePackage
from vela_jax.families.task_heads.spec import Exit, RelevanceSpec

WEIGHTS = "model.safetensors"


def load_path(path: Path) -> LoadedPackage:
    return load(verify(resolve(str(path))))


def change_weights(path: Path, changes: dict[str, Any], name: str = WEIGHTS) -> None:
    tensors = {**load_file(path / name), **changes}
    save_file({key: value for key, value in tensors.items() if value is not None}, path / name)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_loads(originals: MakePackage, variant: str) -> None:
    path = originals(variant)
    loaded = load_path(path)
    assert loaded.family == "task_heads"
    assert loaded.provenance.name == variant
    assert (loaded.provenance.repo, loaded.provenance.revision, loaded.provenance.licence) == (None, None, None)
    assert loaded.provenance.verification == LOCAL
    assert loaded.provenance.manifest_sha256 == ""
    assert loaded.provenance.path == path
    leaves = jax.tree.leaves(loaded.params)
    assert {leaf.dtype for leaf in leaves} == {np.dtype(np.float32)}
    stored = sum(tensor.size for key, tensor in load_file(path / WEIGHTS).items() if _is_served(key))
    assert loaded.provenance.parameters == stored
    scorers = load_file(path / "classification_heads.safetensors") if variant == "reranker" else {}
    assert sum(leaf.size for leaf in leaves) == stored + sum(tensor.size for tensor in scorers.values())


def _is_served(key: str) -> bool:
    return "pooler" not in key and "position_ids" not in key


@pytest.mark.parametrize("variant", ["sequence", "token", "embedding", "qwen3_embedding", "sentence_bert", "reranker"])
def test_a_loaded_network_gives_finite_readouts(originals: MakePackage, variant: str) -> None:
    loaded = load_path(originals(variant))
    depth = loaded.backbone.num_hidden_layers
    network = nnx.merge(loaded.graphdef, loaded.params)
    ids = loaded.tokenizer.frame("the cat is at home")
    row = np.zeros((1, 16), np.int32)
    row[0, : len(ids)] = ids
    readouts = network(jax.numpy.asarray(row), jax.numpy.asarray([len(ids)]), depth)
    assert readouts
    assert all(bool(np.isfinite(value).all()) for value in readouts.values())


def test_values_are_those_of_the_file(originals: MakePackage) -> None:
    path = originals("sequence")
    params = {path: leaf[...] for path, leaf in nnx.to_flat_state(load_path(path).params)}
    tensors = load_file(path / WEIGHTS)
    np.testing.assert_array_equal(
        params["backbone", "layers", 2, "attn", "Wqkv", "weight"], tensors["model.layers.2.attn.Wqkv.weight"]
    )
    np.testing.assert_array_equal(params["head", "classifier", "bias"], tensors["classifier.bias"])


@pytest.mark.parametrize("dtype", ["BF16", "F16"])
@pytest.mark.parametrize("variant", ["guard", "reranker"])
def test_other_storage_types_are_upcast(tmp_path: Path, variant: str, dtype: str) -> None:
    whole = load_path(write_fixture(tmp_path / "whole", variant))
    half = load_path(write_fixture(tmp_path / "half", variant, dtype=dtype))
    for expected, found in zip(jax.tree.leaves(whole.params), jax.tree.leaves(half.params), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=2**-8, atol=1e-7)


def test_the_identity_is_that_of_the_loaded_files(make_package: MakePackage) -> None:
    path = make_package("scores")
    (path / "README.md").write_text("not loaded")
    names = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
    digests = {
        name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in (*names, "operating_point.json")
    }
    assert verify(resolve(str(path))).provenance.model_sha256 == model_sha256(digests)


def test_stages_are_reported_in_order(originals: MakePackage) -> None:
    seen: list[tuple[Stage, int, int]] = []

    def report(stage: Stage, done: int, total: int) -> None:
        seen.append((stage, done, total))

    load(verify(resolve(str(originals("guard")), progress=report), progress=report), progress=report)
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == [Stage.RESOLVE, Stage.VERIFY, Stage.READ, Stage.BUILD]
    for stage in (Stage.VERIFY, Stage.READ):
        _, done, total = [entry for entry in seen if entry[0] is stage][-1]
        assert done == total > 0


def test_options_reach_the_reader(originals: MakePackage) -> None:
    package = resolve(str(originals("reranker")))
    spec = verify(package, {"pair_scorer": {"layer": 2, "dimension": 32}, "layers": [1]}).reading.spec
    assert isinstance(spec, RelevanceSpec)
    assert spec.default == Exit(2, 32)
    with pytest.raises(PackageError, match="option layers"):
        verify(package, {"layers": "all"})


# Weights that do not fit


@pytest.mark.parametrize(
    ("variant", "changes", "fault"),
    [
        ("sequence", {"model.final_norm.weight": None}, r"no tensor for backbone\.final_norm\.weight"),
        ("sequence", {"classifier.bias": None}, r"no tensor for head\.classifier\.bias"),
        ("sequence", {"head.dense.bias": np.zeros(64, np.float32)}, r"head\.dense\.bias is no tensor of this network"),
        (
            "sequence",
            {"model.layers.0.attn_norm.weight": np.ones(64, np.float32)},
            r"layers\.0\.attn_norm\.weight is no",
        ),
        (
            "sequence",
            {"model.layers.4.mlp.Wo.weight": np.ones((64, 96), np.float32)},
            r"layers\.4\.mlp\.Wo\.weight is no",
        ),
        ("sequence", {"extra": np.zeros(1, np.float32)}, "extra is no tensor"),
        (
            "sequence",
            {"classifier.weight": np.zeros((13, 64), np.float32)},
            r"\[13, 64\], the config asks for \[14, 64\]",
        ),
        ("sequence", {"classifier.bias": np.zeros(14, np.int32)}, r"classifier\.bias has the dtype I32"),
        ("embedding", {"decoder.weight": np.zeros(1, np.float32)}, r"decoder\.weight is no tensor"),
        ("qwen3_embedding", {"lm_head.weight": np.zeros((421, 64), np.float32)}, r"lm_head\.weight is no tensor"),
        ("sentence_bert", {"cls.bias": np.zeros(1, np.float32)}, r"cls\.bias is no tensor"),
        ("sentence_bert", {"embeddings.LayerNorm.bias": None}, r"no tensor for backbone\.embeddings\.norm\.bias"),
    ],
)
def test_weights_must_fit(make_package: MakePackage, variant: str, changes: dict[str, Any], fault: str) -> None:
    path = make_package(variant)
    change_weights(path, changes)
    with pytest.raises(PackageError, match=fault) as caught:
        verify(resolve(str(path)))
    assert "the weights do not fit config.json" in str(caught.value)


@pytest.mark.parametrize(
    ("variant", "prefix"), [("sequence", ""), ("embedding", "model."), ("qwen3_embedding", "model.")]
)
def test_the_prefix_is_that_of_the_kind(make_package: MakePackage, variant: str, prefix: str) -> None:
    path = make_package(variant)
    tensors = load_file(path / WEIGHTS)
    renamed = {
        prefix + key.removeprefix("model.") if not key.startswith(("head.", "classifier.")) else key: tensor
        for key, tensor in tensors.items()
    }
    save_file(renamed, path / WEIGHTS)
    with pytest.raises(PackageError, match=r"must have the prefix|must have no prefix"):
        verify(resolve(str(path)))


def test_a_bert_may_keep_its_prefix(make_package: MakePackage, originals: MakePackage) -> None:
    path = make_package("sentence_bert")
    save_file({f"bert.{key}": tensor for key, tensor in load_file(path / WEIGHTS).items()}, path / WEIGHTS)
    with_prefix, without = load_path(path), load_path(originals("sentence_bert"))
    for one, other in zip(jax.tree.leaves(with_prefix.params), jax.tree.leaves(without.params), strict=True):
        np.testing.assert_array_equal(one, other)
    assert with_prefix.provenance.parameters == without.provenance.parameters


def test_a_bert_without_pooler_loads(make_package: MakePackage) -> None:
    path = make_package("sentence_bert")
    change_weights(path, {"pooler.dense.weight": None, "pooler.dense.bias": None, "embeddings.position_ids": None})
    assert load_path(path).provenance.parameters == sum(tensor.size for tensor in load_file(path / WEIGHTS).values())


@pytest.mark.parametrize("name", [WEIGHTS, "classification_heads.safetensors"])
def test_files_cut_by_one_byte_are_refused(make_package: MakePackage, name: str) -> None:
    path = make_package("reranker")
    content = (path / name).read_bytes()
    (path / name).write_bytes(content[:-1])
    with pytest.raises(PackageError, match=f"{name} is not a sound safetensors file: truncated"):
        verify(resolve(str(path)))


@pytest.mark.parametrize("name", ["config.json", "operating_point.json"])
def test_json_cut_by_one_byte_is_refused(make_package: MakePackage, name: str) -> None:
    path = make_package("grounded")
    (path / name).write_bytes((path / name).read_bytes().rstrip()[:-1])
    with pytest.raises(PackageError, match=f"{name} is not valid JSON"):
        verify(resolve(str(path)))


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", None])
def test_a_broken_tokenizer_is_refused(make_package: MakePackage, content: bytes | None) -> None:
    path = make_package("guard")
    whole = (path / "tokenizer.json").read_bytes()
    (path / "tokenizer.json").write_bytes(whole.rstrip()[:-1] if content is None else content)
    with pytest.raises(PackageError, match=r"tokenizer\.json"):
        load_path(path)


def test_a_tokenizer_of_another_package_is_refused(make_package: MakePackage, originals: MakePackage) -> None:
    path = make_package("embedding")
    (path / "tokenizer.json").write_bytes((originals("guard") / "tokenizer.json").read_bytes())
    with pytest.raises(PackageError, match=r"tokenizer\.json has 512 entries, more than vocab_size 421"):
        load_path(path)


@pytest.mark.parametrize(
    ("member", "value"), [("num_hidden_layers", 10**9), ("vocab_size", 10**30), ("hidden_size", 2**40)]
)
def test_sizes_are_bounded_before_anything_is_built(
    make_package: MakePackage, edit: Edit, member: str, value: int
) -> None:
    path = make_package("guard")
    edit(path / "config.json", {member: value})
    with pytest.raises(PackageError, match=rf"config\.json: {member} must be an integer from 1 to"):
        verify(resolve(str(path)))


def test_a_local_file_replaced_by_a_link_is_refused(make_package: MakePackage, tmp_path: Path) -> None:
    path = make_package("guard")
    (path / WEIGHTS).rename(tmp_path / "outside")
    (path / WEIGHTS).symlink_to(tmp_path / "outside")
    with pytest.raises(PackageError, match=r"model\.safetensors in .* is a link"):
        resolve(str(path))


# Licences


def test_a_restricted_licence_must_be_accepted(make_package: MakePackage) -> None:
    path = make_package("guard")
    (path / "MODEL_MANIFEST.json").write_text(json.dumps({"licence": {"spdx": "cc-by-nc-4.0"}}))
    with pytest.raises(PackageError, match=r"guard is under cc-by-nc-4\.0"):
        verify(resolve(str(path)))
    assert verify(resolve(str(path)), accepted_licences=["CC-BY-NC-4.0"]).provenance.licence == "cc-by-nc-4.0"


# Pinned packages


def pinned_as_default(path: Path) -> EmbeddedArtifact:
    """The default model with the pins of another package; its folder is where the tests put it."""
    reading = verify(resolve(str(path))).reading
    files = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in reading.files}
    parameters = verify(resolve(str(path))).provenance.parameters
    identity = model_sha256(files, SENTENCE_BERT)
    return EmbeddedArtifact(dataclasses.replace(MINILM, files=files, model_sha256=identity, parameters=parameters))


def test_a_package_equal_to_its_pins(make_package: MakePackage) -> None:
    path = make_package("sentence_bert")
    artifact = pinned_as_default(path)
    package = dataclasses.replace(resolve(str(path)), pins=artifact.model)
    provenance = verify(package).provenance
    assert provenance.verification == PINNED
    assert provenance.licence == "apache-2.0"
    assert provenance.model_sha256 == artifact.model.model_sha256


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"files": {}}, r"config\.json differs from its pin"),
        ({"model_sha256": "0" * 64}, "the identity is [0-9a-f]{64}, pinned is 0000"),
        ({"parameters": 1}, r"model\.safetensors has \d+ values, pinned are 1"),
    ],
)
def test_any_difference_from_the_pins_is_refused(make_package: MakePackage, change: dict[str, Any], fault: str) -> None:
    path = make_package("sentence_bert")
    pins = dataclasses.replace(pinned_as_default(path).model, **change)
    with pytest.raises(PackageError, match=fault) as caught:
        verify(dataclasses.replace(resolve(str(path)), pins=pins))
    assert "is not the pinned package" in str(caught.value)
    assert "Remove it and fetch it again" in str(caught.value)


def test_a_changed_byte_is_noticed(make_package: MakePackage) -> None:
    path = make_package("sentence_bert")
    pins = pinned_as_default(path).model
    content = bytearray((path / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (path / WEIGHTS).write_bytes(content)
    with pytest.raises(PackageError, match=r"model\.safetensors differs from its pin; the identity is"):
        verify(dataclasses.replace(resolve(str(path)), pins=pins))


def test_tokens_are_never_logged(
    originals: MakePackage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    with caplog.at_level(logging.DEBUG):
        load_path(originals("guard"))
    assert "hf_verysecret" not in caplog.text
