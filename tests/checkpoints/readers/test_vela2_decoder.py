"""Packages of Vela 2.0 decoders: what they say, every refusal, shards, guards, identity."""

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
from checkpoints.registry import REGISTRY
from tests.checkpoints.conftest import Edit, MakePackage
from vela_jax.families.vela2.decoder_layout import SpanLayout
from vela_jax.families.vela2.spec import DecoderSpec
from vela_jax.heads.spans import SpanConfig

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
BROAD = "broad_head.safetensors"


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    """A package without the digests that guard its files."""
    path = make_package("vela2_decoder")
    (path / "SHA256SUMS").unlink()
    return path


def spec_of(path: Path, **options: Any) -> DecoderSpec:
    spec = read_package(PackageFolder.local(path), options).spec
    assert isinstance(spec, DecoderSpec)
    return spec


def rewrite(path: Path, changes: dict[str, Any]) -> None:
    """Change tensors of a file; None takes one away."""
    tensors = {**load_file(path), **changes}
    save_file({key: value for key, value in tensors.items() if value is not None}, path)
    (path.parent / "MODEL_MANIFEST.json").unlink(missing_ok=True)


def test_a_package_loads(originals: MakePackage) -> None:
    path = originals("vela2_decoder")
    loaded = load(verify(resolve(str(path))))
    weights = (FIRST, SECOND, BROAD)
    assert loaded.provenance.parameters == sum(x.size for name in weights for x in load_file(path / name).values())
    digests = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in weights}
    assert loaded.provenance.model_sha256 == weights_sha256(digests)
    assert loaded.provenance.manifest_sha256
    assert (loaded.family, loaded.max_input_tokens) == ("vela2", 4096)


@pytest.mark.parametrize("name", ["vela-2.0-0.8b", "vela-2.0-4b", "vela-2.0-9b"])
def test_the_released_identities_follow_from_the_pinned_digests(name: str) -> None:
    entry = REGISTRY.find(name)
    assert entry is not None
    weights = {file: digest for file, digest in entry.files.items() if file.endswith(".safetensors")}
    assert weights_sha256(weights) == entry.model_sha256
    assert entry.files["MODEL_MANIFEST.json"] == entry.manifest_sha256


def test_what_a_package_says(package: Path) -> None:
    spec = spec_of(package)
    assert (spec.head_dim, spec.span_head, spec.broad_head) == (32, SpanConfig(32, 8), SpanConfig(24, 6))
    assert (spec.spans, spec.has_broad) == (SpanLayout(48, 40, 32), True)


def test_what_it_leaves_out(package: Path, edit: Edit) -> None:
    edit(package / "config.json", {"span_head": None, "span_layout": ...})
    spec = spec_of(package)
    assert (spec.span_head, spec.spans) == (SpanConfig(256, 64), SpanLayout(2048, 1800, 1536))


def test_a_second_head_needs_its_file_and_its_calibration(package: Path, edit: Edit) -> None:
    edit(package / "calibration.json", {"broad_head": None})
    assert not spec_of(package).has_broad
    (package / BROAD).unlink()
    assert spec_of(package).broad_head is None
    assert load(verify(resolve(str(package)))).provenance.parameters > 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"backbone_config": None}, "backbone_config must be an object"),
        ({"backbone_config": {"model_type": "qwen3"}}, "model_type must be"),
        ({"head_dim": 0}, "head_dim must be"),
        ({"max_length": 5000}, "max_length must be"),
        ({"span_head": {"d": 0}}, "d must be"),
        ({"span_layout": {"window": "x"}}, "window must be"),
        ({"span_layout": {"hybrid_rmax": 9, "window_above": 8}}, "window_above must be equal to hybrid_rmax"),
    ],
)
def test_refusals(package: Path, edit: Edit, changes: dict[str, Any], says: str) -> None:
    edit(package / "config.json", changes)
    with pytest.raises(PackageError, match=says):
        read_package(PackageFolder.local(package), {})


@pytest.mark.parametrize(
    ("broad", "says"),
    [
        ({"temperature": 0, "threshold": 0.5}, "temperature must be"),
        ({"temperature": 1, "threshold": 2}, "threshold must be"),
        ({"temperature": 1, "threshold": 0.5, "router_label_sets": ["a"]}, "router_label_sets must be"),
    ],
)
def test_a_wrong_calibration_of_the_second_head(package: Path, edit: Edit, broad: dict[str, Any], says: str) -> None:
    edit(package / "calibration.json", {"broad_head": broad})
    with pytest.raises(PackageError, match=says):
        read_package(PackageFolder.local(package), {})


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        (FIRST, {"backbone.norm.weight": None}, "no tensor for backbone.norm.weight"),
        (FIRST, {"backbone.norm.weight": np.ones(9, np.float32)}, "has the shape"),
        (SECOND, {"span2.K.weight": None}, "no tensor for span2.K.weight"),
        (SECOND, {"span2.extra": np.ones(3, np.float32)}, "span2.extra is no tensor of this network"),
        (SECOND, {"set_bias": None}, "no tensor for set_bias"),
        (SECOND, {"backbone.norm.weight": np.ones(64, np.float32)}, "are one parameter"),
        (BROAD, {"span_broad.K.weight": np.ones(9, np.float32)}, "span_broad.K.weight must be a matrix"),
    ],
)
def test_wrong_weights(package: Path, name: str, changes: dict[str, Any], says: str) -> None:
    rewrite(package / name, changes)
    with pytest.raises(PackageError, match=says):
        verify(resolve(str(package)))


def test_tensors_that_the_backbone_does_not_have_are_passed_over(package: Path) -> None:
    rewrite(package / FIRST, {"backbone.rotary.inv_freq": np.ones(4, np.float32)})
    verify(resolve(str(package)))


def test_guards(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("vela2_decoder")
    calibration = path / "calibration.json"
    edit(calibration, {"noul_calibration": None})
    with pytest.raises(PackageError, match="SHA256SUMS"):
        verify(resolve(str(path)))
    (path / "SHA256SUMS").unlink()
    verify(resolve(str(path)))  # the manifest guards weights alone
    manifest = json.loads((path / "MODEL_MANIFEST.json").read_text())
    manifest["files_sha256"][FIRST] = "0" * 64
    (path / "MODEL_MANIFEST.json").write_text(json.dumps(manifest))
    with pytest.raises(PackageError, match="MODEL_MANIFEST"):
        verify(resolve(str(path)))


def test_a_missing_shard(package: Path) -> None:
    (package / SECOND).unlink()
    with pytest.raises(PackageError, match=SECOND):
        verify(resolve(str(package)))
