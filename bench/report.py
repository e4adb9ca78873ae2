"""What a benchmark hands back: tables on the terminal, the same figures as JSON, and a plot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; figures keep their full precision until they are shown."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)

    def records(self) -> list[dict[str, Cell]]:
        """The rows as JSON objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars of several series over the same groups; `line` marks the value where all is equal, or a target.

    NaN leaves a bar out. `log` draws the values on a logarithmic axis.
    """

    title: str
    unit: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float]]
    line: float | None = None
    log: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run found. `kept` says whether every promise that it checks was kept."""

    benchmark: str
    parameters: Mapping[str, Any]
    tables: Sequence[Table]
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    kept: bool = True


def show(report: Report, console: Console) -> None:
    """Print the tables and notes."""
    for table in report.tables:
        shown = RichTable(*table.columns, title=table.title, title_justify="left")
        for row in table.rows:
            shown.add_row(*(_text(cell) for cell in row))
        console.print(shown)
    for note in report.notes:
        console.print(note, markup=False, highlight=False)


def save(report: Report, machine: Mapping[str, Any], folder: Path) -> Path:
    """Write `<benchmark>.json` into the folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report.benchmark}.json"
    members = {
        "benchmark": report.benchmark,
        "kept": report.kept,
        "parameters": dict(report.parameters),
        "machine": dict(machine),
        "tables": [{"title": table.title, "rows": table.records()} for table in report.tables],
        "charts": [asdict(chart) for chart in report.charts],
        "notes": list(report.notes),
    }
    path.write_text(json.dumps(_finite(members), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return "" if cell is None else str(cell)
    if 0 < abs(cell) < 0.001:
        return f"{cell:.1e}"
    return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:.1f}"


def _finite(value: Any) -> Any:
    """JSON has no NaN: such figures become null."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    return value
