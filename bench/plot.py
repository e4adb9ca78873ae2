"""Draws the charts of a report into one PNG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bench.report import Chart, Report

WIDTH, HEIGHT = 9.0, 3.6  # inches of one chart


def draw(report: Report, path: Path) -> Path:
    """Write the report's charts, one below the other. Raises ValueError for a report without charts."""
    if not report.charts:
        raise ValueError(f"the report of {report.benchmark} has no charts")
    count = len(report.charts)
    figure, axes = plt.subplots(count, 1, figsize=(WIDTH, HEIGHT * count), squeeze=False, layout="constrained")
    for chart, each in zip(report.charts, axes[:, 0], strict=True):
        _draw_bars(each, chart)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _draw_bars(axes: Axes, chart: Chart) -> None:
    places = np.arange(len(chart.groups))
    width = 0.8 / max(1, len(chart.series))
    for number, (name, values) in enumerate(chart.series.items()):
        shift = (number - (len(chart.series) - 1) / 2) * width
        bars = axes.bar(places + shift, values, width, label=name)
        axes.bar_label(bars, labels=[_label(value) for value in values], fontsize=7)
    if chart.line is not None:
        axes.axhline(chart.line, color="black", linewidth=0.8, linestyle="--")
    if chart.log:
        axes.set_yscale("log")
    axes.set_xticks(places, list(chart.groups))
    axes.set_title(chart.title, loc="left", fontsize=10)
    axes.set_ylabel(chart.unit)
    axes.margins(y=0.15)
    axes.legend(fontsize=8)


def _label(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"
