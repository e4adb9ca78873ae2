"""Vela 2.0 packages: detection, every refusal, guards, identity, options."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from checkpoints.files import PackageError, PackageFolder
from checkpoints.identity import weights_sha256
from checkpoints.package import load, resolve, verify
from checkpoints.readers import read_package
from checkpoints.readers.reading import Reading
from checkpoints.registry import REGISTRY
from checkpoints.resolve import HubArtifact, parse_artifact
from tests.checkpoints.conftest import Edit, MakePackage
from vela_jax.families.vela2.spec import EncoderSpec

WEIGHTS = "model.safetensors"


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    """A package without the digests that guard its files."""
    path = make_package("vela2_both")
    (path / "SHA256SUMS").unlink()
    return path


def read(path: Path, **options: Any) -> Reading:
    return read_package(PackageFolder.local(path), options)


def spec_of(path: Path, **options: Any) -> EncoderSpec:
    spec = read(path, **options).spec
    assert isinstance(spec, EncoderSpec)
    return spec


@pytest.mark.parametrize("variant", ["vela2_both", "vela2_cosine", "vela2_mlp"])
def test_a_package_loads(originals: MakePackage, variant: str) -> None:
    path = originals(variant)
    loaded = load(verify(resolve(str(path))))
    tensors = load_file(path / WEIGHTS)
    assert loaded.family == "vela2"
    assert loaded.provenance.parameters == sum(tensor.size for tensor in tensors.values())
    digest = hashlib.sha256((path / WEIGHTS).read_bytes()).hexdigest()
    assert loaded.provenance.model_sha256 == weights_sha256({WEIGHTS: digest})
    assert loaded.max_input_tokens == 2048
    assert loaded.tokenizer.id_of("[Q]") is None  # no text gives a marker
    assert len(loaded.tokenizer.encode("[Q]").ids) > 1


def test_an_encoder_of_the_other_kind(make_package: MakePackage) -> None:
    path = make_package("vela2_bert")
    found = read(path)
    assert (found.model_type, found.max_input_tokens) == ("bert", 256)
    loaded = load(verify(resolve(str(path))))
    stored = {name: tensor for name, tensor in load_file(path / WEIGHTS).items() if ".pooler." not in name}
    assert loaded.provenance.parameters == sum(tensor.size for tensor in stored.values())


def test_the_released_identity_follows_from_the_pinned_digests() -> None:
    entry = REGISTRY.find("vela-2.0-0.3b")
    assert entry is not None
    assert weights_sha256({WEIGHTS: entry.files[WEIGHTS]}) == entry.model_sha256
    found = parse_artifact("vllm-sr/Vela-2.0-0.3B")
    assert isinstance(found, HubArtifact)
    assert found.pins is entry


def test_what_a_package_says(package: Path) -> None:
    spec = spec_of(package)
    assert (spec.max_length, spec.window_overlap, spec.head.proj_dim, spec.head.readout) == (2048, 64, 32, "both")
    assert spec.calibration.presets == ("pii", "halu", "relevance")
    assert (spec.special.bos, spec.special.eos) == (2, 1)
    assert (spec.max_scan_tokens, spec.fits_nouls) == (None, False)


@pytest.mark.parametrize(
    ("options", "scan", "fits"),
    [({"max_scan_tokens": 300}, 300, False), ({"noul_calibration": True}, None, True), ({"layers": [1]}, None, False)],
)
def test_options(package: Path, options: dict[str, Any], scan: int | None, fits: bool) -> None:
    spec = spec_of(package, **options)
    assert (spec.max_scan_tokens, spec.fits_nouls) == (scan, fits)


@pytest.mark.parametrize(
    "options", [{"max_scan_tokens": 0}, {"max_scan_tokens": True}, {"max_scan_tokens": "9"}, {"noul_calibration": 1}]
)
def test_bad_options(package: Path, options: dict[str, Any]) -> None:
    with pytest.raises(PackageError, match=f"option {next(iter(options))}"):
        read(package, **options)


@pytest.mark.parametrize(
    "changes",
    [{"model_type": "modernbert"}, {"format_version": 2}, {"format_version": True}, {"format_version": ...}],
)
def test_other_packages_are_not_detected(package: Path, edit: Edit, changes: dict[str, Any]) -> None:
    edit(package / "config.json", changes)
    with pytest.raises(PackageError, match="is no package that this server reads"):
        read(package)


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("config.json", {"readout": "dot"}, "readout must be 'cosine' or 'mlp' or 'both'"),
        ("config.json", {"readout": ...}, "readout must be"),
        ("config.json", {"proj_dim": 0}, "proj_dim must be"),
        ("config.json", {"marker_ids": {"[Q]": 1}}, "marker_ids must be an object of ids that names exactly"),
        ("config.json", {"max_length": 40000}, "max_length must be"),
        ("config.json", {"window_overlap": -1}, "window_overlap must be"),
        ("config.json", {"eos_token_id": 10**6}, "eos_token_id must be"),
        ("config.json", {"encoder_config": None}, "encoder_config must be an object"),
        (
            "config.json",
            {"encoder_config": {"model_type": "t5"}},
            "model_type must be 'bert' or 'modernbert'; found 't5'",
        ),
        ("calibration.json", {"temperature": ...}, "temperature must be an object"),
        ("calibration.json", {"temperature": {"choice": 0}}, "choice must be a number above 0"),
        ("calibration.json", {"thresholds": {"set:*": 0.3}}, r"span:\* must be a number from 0 to 1"),
        ("calibration.json", {"thresholds": {"set:*": 0.3, "span:*": 2}}, r"span:\* must be a number from 0 to 1"),
        ("calibration.json", {"pii_types": "AGE"}, "pii_types must be a list of names"),
        ("calibration.json", {"pii_length_rule": {"anchors": []}}, "anchors must be a list with ascending"),
        ("calibration.json", {"pii_sparse_gate": {"K": 1.5}}, "K must be an integer"),
        ("calibration.json", {"pii_sparse_gate": {"K": 1}}, "t_sparse must be a number"),
        ("calibration.json", {"pii_schema": {"text": "x"}}, "labels must be an object of descriptions"),
        ("calibration.json", {"halu_schema": {"text": " ", "labels": {"a": "b"}}}, "text must be text"),
        (
            "calibration.json",
            {"relevance_schema": {"text": "x", "levels": {"a": "b"}}},
            "levels must be an object of 2",
        ),
        ("calibration.json", {"noul_calibration": {"T": 0, "b": 0}}, "T must be a number above 0"),
        ("calibration.json", {"pii_buckets": [1]}, "pii_buckets must be a list of objects"),
    ],
)
def test_faults_are_named(package: Path, edit: Edit, name: str, changes: dict[str, Any], says: str) -> None:
    edit(package / name, changes)
    with pytest.raises(PackageError, match=says) as caught:
        read(package)
    assert name in str(caught.value)


def test_members_that_may_be_absent(package: Path, edit: Edit) -> None:
    absent = ("pii_length_rule", "pii_sparse_gate", "pii_schema", "halu_schema", "relevance_schema", "noul_calibration")
    edit(package / "calibration.json", dict.fromkeys(absent, ...))
    calibration = spec_of(package, noul_calibration=True).calibration
    assert (calibration.presets, calibration.noul, calibration.gate) == ((), None, None)


@pytest.mark.parametrize("name", ["calibration.json", "tokenizer.json", WEIGHTS])
def test_missing_files(package: Path, name: str) -> None:
    (package / name).unlink()
    with pytest.raises(PackageError, match=f"{name}: missing"):
        read(package)


def test_files_that_differ_from_their_stated_digests(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("vela2_both")
    edit(path / "calibration.json", {"pii_types": []})
    with pytest.raises(PackageError, match=r"SHA256SUMS states other digests of calibration\.json"):
        verify(resolve(str(path)))
    digest = "0" * 64
    (path / "SHA256SUMS").write_text(f"{digest} *other.bin\n")  # files that it does not name pass
    verify(resolve(str(path)))
    (path / "SHA256SUMS").write_text("no digest\n")
    with pytest.raises(PackageError, match="line 1 is no digest"):
        verify(resolve(str(path)))


def test_a_manifest_guards_the_weights(package: Path, edit: Edit) -> None:
    manifest = package / "MODEL_MANIFEST.json"
    manifest.write_text(json.dumps({"files_sha256": {"calibration.json": "0" * 64, WEIGHTS: None}}))
    verified = verify(resolve(str(package)))
    assert verified.provenance.manifest_sha256 == hashlib.sha256(manifest.read_bytes()).hexdigest()
    edit(manifest, {"files_sha256": {WEIGHTS: "0" * 64}})
    with pytest.raises(PackageError, match=r"MODEL_MANIFEST\.json states other digests of model\.safetensors"):
        verify(resolve(str(package)))


@pytest.mark.parametrize(
    ("name", "tensor", "says"),
    [
        ("encoder.unknown.weight", np.zeros(3, np.float32), None),  # beside the backbone's own: ignored
        ("pooler.weight", np.zeros(3, np.float32), None),
        ("w_x.weight", np.zeros(3, np.float32), "w_x.weight is no tensor of this network"),
        ("cls_mlp.1.bias", np.zeros(3, np.float32), "cls_mlp.1.bias is no tensor"),
        ("log_tau", np.zeros(1, np.float32), "log_tau has the shape"),
        ("w_q.bias", None, "no tensor for head.w_q.bias"),
        ("encoder.layers.1.mlp.Wi.weight", None, "no tensor for backbone.layers.1.mlp.Wi.weight"),
    ],
)
def test_tensors_of_the_head_are_all_known(package: Path, name: str, tensor: Any, says: str | None) -> None:
    tensors = {**load_file(package / WEIGHTS), name: tensor}
    known = sum(value.size for key, value in tensors.items() if value is not None and key != name)
    save_file({key: value for key, value in tensors.items() if value is not None}, package / WEIGHTS)
    if says is None:
        assert verify(resolve(str(package))).provenance.parameters == known
        return
    with pytest.raises(PackageError, match=says):
        verify(resolve(str(package)))
