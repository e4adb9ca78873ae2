"""Tables, JSON and plots of a report."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.plot import draw
from bench.report import Chart, Report, Table, save, show

TABLE = Table("Times", ("name", "ms", "same"), [["a", 1.23456, True], ["b", float("nan"), False], ["c", None, True]])
CHART = Chart("Bars", "ms", ["a", "b"], {"one": [1.0, 2.0], "two": [float("nan"), 3.0]}, line=1.0, log=True)
REPORT = Report("trial", {"calls": 3}, [TABLE], [CHART, CHART], ["a [note]"], kept=False)


def test_json_has_full_figures_and_no_nan(tmp_path: Path) -> None:
    path = save(REPORT, {"cores": 2}, tmp_path / "made")
    assert path.name == "trial.json"
    members = json.loads(path.read_text(encoding="utf-8"))
    assert members["kept"] is False
    assert members["machine"] == {"cores": 2}
    assert members["parameters"] == {"calls": 3}
    rows = members["tables"][0]["rows"]
    assert rows[0] == {"name": "a", "ms": 1.23456, "same": True}
    assert rows[1]["ms"] is None
    assert members["charts"][0]["series"]["two"] == [None, 3.0]
    assert members["notes"] == ["a [note]"]


def test_the_terminal_shows_tables_and_notes() -> None:
    output = StringIO()
    show(REPORT, Console(file=output, width=100))
    text = output.getvalue()
    for part in ("Times", "1.235", "yes", "no", "a [note]"):
        assert part in text


@pytest.mark.parametrize(("value", "shown"), [(0.0, "0.000"), (2e-6, "2.0e-06"), (9.5, "9.500"), (123.456, "123.5")])
def test_figures_are_shown_with_sense(value: float, shown: str) -> None:
    output = StringIO()
    show(Report("r", {}, [Table("t", ("x",), [[value]])]), Console(file=output, width=80))
    assert shown in output.getvalue()


def test_a_plot_is_a_png(tmp_path: Path) -> None:
    path = draw(REPORT, tmp_path / "plot.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_report_without_charts_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no charts"):
        draw(Report("r", {}, []), tmp_path / "plot.png")
