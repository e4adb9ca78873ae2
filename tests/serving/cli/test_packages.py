"""Commands on packages and devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkpoints.tables.embedded import EMBEDDED
from serving.cli import main


@pytest.fixture(autouse=True)
def same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test process has its libraries imported already."""
    monkeypatch.setattr("serving.cli.packages.prepare_environment", lambda **_: None)


def test_models_are_listed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    embedded, built_in = lines[: len(EMBEDDED)], lines[len(EMBEDDED) :]
    assert [line.split()[0] for line in embedded] == [model.name for model in EMBEDDED]
    assert built_in
    for line in built_in:
        name, backbone, parameters, unit = line.split()
        repo, _, revision = name.partition("@")
        assert repo.count("/") == 1
        assert len(revision) == 40
        assert backbone
        assert int(parameters) > 1_000_000
        assert unit == "parameters"


def test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["auto"] in found["devices"]
    assert "cpu" in found["devices"]


def test_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "accelerators": ["cpu", "cuda"],
        "engines": ["jax"],
        "families": ["generator", "task_heads", "vela2"],
        "profiles": ["exact"],
    }


def test_a_fixture_verifies_and_converts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixture, copy = tmp_path / "fixture", tmp_path / "copy"
    assert main(["fixture", str(fixture), "--variant", "sequence", "--seed", "3"]) == 0
    assert main(["verify", str(fixture)]) == 0
    assert main(["convert", str(fixture), str(copy)]) == 0
    assert main(["verify", str(copy)]) == 0
    written, original, converted, again = capsys.readouterr().out.splitlines()
    assert (written, converted) == (str(fixture), str(copy))
    assert json.loads(original)["verification"] == "local"
    assert json.loads(again)["model_sha256"] == json.loads(original)["model_sha256"]


def test_a_damaged_package_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixture = tmp_path / "fixture"
    assert main(["fixture", str(fixture)]) == 0
    weights = fixture / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert main(["verify", str(fixture)]) == 2
    assert "model.safetensors" in capsys.readouterr().err.splitlines()[-1]


def test_a_fixture_does_not_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["fixture", str(tmp_path)]) == 2
    assert "is not an empty directory" in capsys.readouterr().err
