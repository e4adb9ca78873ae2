"""The command that records a model's answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkpoints.fixtures import write_fixture
from checkpoints.golden import read_entries
from serving.cli import main

DATA = Path(__file__).parents[2] / "data"
STORED = DATA / "golden" / "packages.json"


@pytest.fixture(autouse=True)
def same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test process has its libraries imported already."""
    monkeypatch.setattr("serving.cli.golden.prepare_environment", lambda **_: None)


@pytest.fixture(scope="module")
def fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fixture(tmp_path_factory.mktemp("golden") / "ranker", "reranker")


def test_answers_are_printed_as_a_file_holds_them(
    fixture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["golden", str(fixture), "--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    (entry,) = json.loads(printed).values()
    assert set(entry) == {"model_sha256", "answers"}
    assert list(entry["answers"]["cpu"]["rerank"]) == ["0.logit", "1.logit"]
    path = tmp_path / "file.json"
    assert main(["golden", str(fixture), "--device", "cpu", "--write", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == printed
    assert capsys.readouterr().out == f"{path}\n"


def test_the_stored_answers_of_a_package_are_what_the_command_gives(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    package = DATA / "vela1" / "packages" / "nli"
    assert main(["golden", str(package), "--device", "cpu", "--write", str(path)]) == 0
    found, stored = read_entries(path)["nli"], read_entries(STORED)["nli"]
    assert found.model_sha256 == stored.model_sha256
    assert list(found.answers["cpu"]) == list(stored.answers["cpu"]) == ["texts", "pair", "decisions"]
    for case, values in stored.answers["cpu"].items():
        assert found.answers["cpu"][case] == pytest.approx(values, abs=1e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing/package/folder"], "is no folder here"),
        (["{fixture}", "--device", "abacus"], "'abacus' is no device"),
        (["{fixture}", "--device", "cpu", "--revision", "a"], "is a local folder"),
        (["{fixture}", "--device", "cpu", "--write", "{fixture}/config.json"], "is no file of reference answers"),
        (["{fixture}", "--device", "cpu", "--write", "{fixture}/no/such/folder.json"], "No such file or directory"),
    ],
)
def test_what_cannot_be_recorded(
    words: list[str], message: str, fixture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(fixture.iterdir())
    assert main(["golden", *(word.replace("{fixture}", str(fixture)) for word in words)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err.splitlines()[-1]
    assert sorted(fixture.iterdir()) == before
