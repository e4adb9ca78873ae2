"""The `vela bench` command as a whole."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import cli
from bench.command import Benchmark, Workplace
from bench.report import Chart, Report, Table
from serving.cli import main

CHART = Chart("c", "ms", ["g"], {"s": [1.0]})


def fake(*, kept: bool) -> Benchmark:
    def run(_: object, workplace: Workplace) -> Report:
        assert workplace.folder.is_dir()
        workplace.say("working [hard]")
        return Report("load", {}, [Table("t", ("x",), [[1.0]])], [CHART], kept=kept)

    return Benchmark("a fake", lambda _: None, run)


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(cli, "BENCHMARKS", {"load": fake(kept=request.param)})


@pytest.mark.parametrize("faked", [True, False], indirect=True)
@pytest.mark.usefixtures("faked")
def test_results_are_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    kept = request.node.callspec.params["faked"]
    assert main(["bench", "load", "--output", str(tmp_path)]) == (0 if kept else 1)
    members = json.loads((tmp_path / "load.json").read_text(encoding="utf-8"))
    assert members["machine"]["cores"] >= 1
    assert (tmp_path / "load.png").exists()
    said = capsys.readouterr()
    assert "1.000" in said.out
    assert "working [hard]" in said.err


@pytest.mark.parametrize("faked", [True], indirect=True)
@pytest.mark.usefixtures("faked")
def test_figures_are_kept_where_plots_cannot_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "bench.plot", raising=False)
    assert main(["bench", "load", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "load.json").exists()
    assert not (tmp_path / "load.png").exists()
    assert "matplotlib is not installed" in capsys.readouterr().err


@pytest.mark.parametrize("what", sorted(cli.BENCHMARKS))
def test_every_benchmark_explains_itself(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", what, "--help"])
    assert ended.value.code == 0
    assert "--output DIR" in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "beauty"])
    assert ended.value.code == 2
    assert "determinism" in capsys.readouterr().err
