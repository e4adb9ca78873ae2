"""How far long work is: a bar on a terminal, a line now and then elsewhere; always on stderr."""

from __future__ import annotations

import logging
import sys
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class Display(Protocol):
    """Shows the stages of loads; may be told of them from any one thread."""

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        """A stage of the work on `name` is so far; `total` is 0 where it is unknown."""

    def line(self, text: str) -> None:
        """Say something that stays."""

    def close(self) -> None:
        """Take away what does not stay."""


def open_display(stream: TextIO | None = None) -> Display:
    """The display for a stream, stderr by default."""
    stream = stream or sys.stderr
    return Bars(stream) if stream.isatty() else Lines(stream)


class Lines:
    """One line a stage, and one each further quarter."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last: tuple[str, str, int] | None = None

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        """Print when the stage or the quarter is another one."""
        quarter = 4 * done // total if total else 0
        if self._last == (name, stage, quarter):
            return
        self._last = name, stage, quarter
        self.line(f"{name}: {stage}" + (f" {25 * quarter} %" if quarter else ""))

    def line(self, text: str) -> None:
        """Print it."""
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """There is nothing to take away."""


class Bars:
    """A bar for the work on each name, gone when the work is over."""

    def __init__(self, stream: TextIO) -> None:
        columns = (TextColumn("{task.fields[name]}: {task.description}"), BarColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(file=stream), transient=True)
        self._tasks: dict[str, TaskID] = {}

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        """Move the bar of the name; without a total it only pulses."""
        if not self._tasks:
            self._progress.start()
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(stage, name=name, total=None)
        self._progress.update(self._tasks[name], description=stage, completed=done, total=total or None)

    def line(self, text: str) -> None:
        """Print it above the bars."""
        self._progress.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Remove the bars."""
        self._progress.stop()
        for task in self._tasks.values():
            self._progress.remove_task(task)
        self._tasks.clear()


class DisplayHandler(logging.Handler):
    """Sends log records to a display, so that they do not tear its bars."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self._display = display
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        try:
            self._display.line(self.format(record))
        except Exception:
            self.handleError(record)
