"""Shipping: the package is copied, its pins are those of its files, and a changed file is told."""

import json
from pathlib import Path

import pytest

from bench.mini.pins import pin, ship
from checkpoints.files import PackageError, PackageFolder, file_digests
from checkpoints.fixtures import write_fixture


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = write_fixture(tmp_path / "made" / "Tiny", "vela2_bert")
    (path / "README.md").write_text("a card")
    return path


def test_a_package_is_copied_and_pinned(package: Path, tmp_path: Path) -> None:
    home, pins = tmp_path / "home", tmp_path / "pins.json"
    pins.write_text('{"Other": {}}')
    ship([package], home, pins)
    found = json.loads(pins.read_text())
    assert list(found) == ["Other", "Tiny"]
    assert found["Tiny"] == pin(package)
    folder = PackageFolder.local(home / "Tiny")
    assert file_digests(folder, found["Tiny"]["files"]) == found["Tiny"]["files"]
    assert set(found["Tiny"]["files"]) == {"config.json", "calibration.json", "tokenizer.json", "model.safetensors"}
    assert (home / "Tiny" / "README.md").read_text() == "a card"


def test_a_second_time_takes_the_place_of_the_first(package: Path, tmp_path: Path) -> None:
    home, pins = tmp_path / "home", tmp_path / "pins.json"
    ship([package], home, pins)
    (home / "Tiny" / "left").write_text("over")
    ship([package], home, pins)
    assert not (home / "Tiny" / "left").exists()


def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PackageError):
        ship([tmp_path / "empty"], tmp_path / "home", tmp_path / "pins.json")
    assert not (tmp_path / "pins.json").exists()
