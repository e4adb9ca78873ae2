"""Converted copies: whole, equal, and refused when they are not."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from checkpoints import converted
from checkpoints.files import PackageError, file_digests
from checkpoints.package import LOCAL, LoadedPackage, convert, load, resolve, verify
from tests.checkpoints.conftest import Edit, MakePackage


def load_path(path: Path, accepted: tuple[str, ...] = ()) -> LoadedPackage:
    return load(verify(resolve(str(path)), accepted_licences=accepted))


@pytest.fixture(scope="module")
def copy(originals: MakePackage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return convert(str(originals("guard")), tmp_path_factory.mktemp("copies") / "guard-copy")


@pytest.mark.parametrize("variant", ["embedding", "reranker", "sentence_bert", "scores", "vela2_decoder"])
def test_a_copy_equals_its_package(originals: MakePackage, tmp_path: Path, variant: str) -> None:
    output = convert(str(originals(variant)), tmp_path / "copy")
    original, copied = load_path(originals(variant)), load_path(output)
    assert not list(output.glob("model*.safetensors"))
    assert copied.spec == original.spec
    assert copied.backbone == original.backbone
    assert copied.max_input_tokens == original.max_input_tokens
    for one, other in zip(jax.tree.leaves(original.params), jax.tree.leaves(copied.params), strict=True):
        assert other.dtype == np.float32
        np.testing.assert_array_equal(one, other)


def test_a_copy_may_be_reduced_as_its_package(copy: Path, originals: MakePackage) -> None:
    original, copied = (load(verify(resolve(str(path))), precision="bfloat16") for path in (originals("guard"), copy))
    for one, other in zip(jax.tree.leaves(original.params), jax.tree.leaves(copied.params), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_a_copy_names_its_package(originals: MakePackage, copy: Path) -> None:
    original, copied = load_path(originals("guard")).provenance, load_path(copy).provenance
    assert copied.name == "guard"
    assert copied.model_sha256 == original.model_sha256
    assert copied.parameters == original.parameters
    assert copied.verification == LOCAL
    assert copied.path == copy


def test_a_copy_of_a_copy_is_the_same(copy: Path, tmp_path: Path) -> None:
    again = convert(str(copy), tmp_path / "again")
    assert load_path(again).provenance.model_sha256 == load_path(copy).provenance.model_sha256


def test_an_output_that_exists_is_not_touched(originals: MakePackage, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(PackageError, match="exists already: choose another output"):
        convert(str(originals("guard")), tmp_path / "taken")
    assert list((tmp_path / "taken").iterdir()) == []


def test_a_failed_conversion_leaves_nothing(
    originals: MakePackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(converted, "file_digests", fail)
    with pytest.raises(OSError, match="no space left"):
        convert(str(originals("guard")), tmp_path / "out" / "copy")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_restricted_licence_stays_restricted(make_package: MakePackage, tmp_path: Path) -> None:
    path = make_package("guard")
    (path / "MODEL_MANIFEST.json").write_text('{"licence": "cc-by-nc-4.0"}')
    output = convert(str(path), tmp_path / "copy", accepted_licences=["cc-by-nc-4.0"])
    with pytest.raises(PackageError, match=r"guard-copy|copy is under cc-by-nc-4\.0"):
        verify(resolve(str(output)))
    assert load_path(output, ("cc-by-nc-4.0",)).provenance.licence == "cc-by-nc-4.0"


@pytest.fixture
def broken(originals: MakePackage, tmp_path: Path) -> Path:
    return convert(str(originals("guard")), tmp_path / "broken")


def params_file(path: Path) -> Path:
    return max(
        (file for file in (path / converted.PARAMS).rglob("*") if file.is_file()), key=lambda f: f.stat().st_size
    )


def test_a_changed_file_is_refused(broken: Path) -> None:
    target = params_file(broken)
    content = bytearray(target.read_bytes())
    content[len(content) // 2] ^= 1
    target.write_bytes(content)
    with pytest.raises(PackageError, match=r"params/.* differ from converted\.json: remove the copy and convert again"):
        verify(resolve(str(broken)))


def test_a_missing_or_additional_file_is_refused(broken: Path) -> None:
    (broken / "extra").write_text("")
    with pytest.raises(PackageError, match=r"has other files than converted\.json lists \(extra\)"):
        verify(resolve(str(broken)))
    (broken / "extra").unlink()
    params_file(broken).unlink()
    with pytest.raises(PackageError, match=r"has other files than converted\.json lists \(params/"):
        verify(resolve(str(broken)))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"format": "vela-jax-converted/0"}, "has the format 'vela-jax-converted/0'"),
        ({"model_sha256": ...}, "is not the record of a converted copy"),
        ({"parameters": "many"}, "is not the record of a converted copy"),
        ({"unknown": 1}, "is not the record of a converted copy"),
        ({"contents": {}}, "has other files than"),
    ],
)
def test_an_unsound_record_is_refused(broken: Path, edit: Edit, changes: dict[str, Any], fault: str) -> None:
    edit(broken / converted.RECORD, changes)
    with pytest.raises(PackageError, match=fault):
        verify(resolve(str(broken)))


def test_params_that_do_not_fit_the_config_are_refused(broken: Path, edit: Edit) -> None:
    edit(broken / "config.json", {"num_hidden_layers": 5})
    record = json.loads((broken / converted.RECORD).read_text())
    folder = resolve(str(broken)).folder
    record["contents"]["config.json"] = file_digests(folder, ("config.json",))["config.json"]
    (broken / converted.RECORD).write_text(json.dumps(record))
    verified = verify(resolve(str(broken)))
    with pytest.raises(PackageError, match=r"params in .* does not fit config\.json"):
        load(verified)
