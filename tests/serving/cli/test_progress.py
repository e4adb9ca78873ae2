"""Progress on a terminal and in a log."""

from __future__ import annotations

import io
import logging

import pytest

from serving.cli.progress import Bars, DisplayHandler, Lines, open_display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_with_each_stage_and_quarter() -> None:
    stream = io.StringIO()
    lines = open_display(stream)
    assert isinstance(lines, Lines)
    for done in range(0, 1001, 7):
        lines.stage("m", "read", done, 1000)
    lines.stage("m", "build", 0, 0)
    lines.stage("m", "build", 0, 0)
    lines.line("m is ready")
    lines.close()
    assert stream.getvalue().splitlines() == [
        "m: read",
        "m: read 25 %",
        "m: read 50 %",
        "m: read 75 %",
        "m: build",
        "m is ready",
    ]


def test_bars_leave_only_the_lines_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    bars = open_display(stream)
    assert isinstance(bars, Bars)
    bars.close()  # before anything began
    bars.stage("m[0]", "read", 1, 4)
    bars.stage("m[0]", "build", 0, 0)
    bars.line("[m] is ready")
    bars.close()
    assert "[m] is ready" in stream.getvalue()
    bars.stage("n", "read", 1, 2)  # it can be used again
    bars.close()


def test_log_records_go_through_the_display() -> None:
    stream = io.StringIO()
    record = logging.LogRecord("serving.x", logging.WARNING, __file__, 1, "model %s", ("m",), None)
    DisplayHandler(Lines(stream)).emit(record)
    assert stream.getvalue().endswith("WARNING serving.x: model m\n")
