"""What a run shows while it goes on, and when it has to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bench.mini.training.trainer import Progress


@contextmanager
def progress_bar(
    console: Console, steps: int, done: int, shown: Callable[[Progress], str]
) -> Iterator[Callable[[Progress], None]]:
    """A bar of steps; what it yields takes the progress of each step, and `shown` says it in words."""
    columns = (
        TextColumn("train"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}"),
    )
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("train", total=steps, completed=done, losses="")

        def report(progress: Progress) -> None:
            bar.update(task, completed=progress.step, losses=shown(progress))

        yield report


def until(minutes: float | None) -> float | None:
    """The time of `time.monotonic` at which so many minutes have passed; None: never."""
    return None if minutes is None else time.monotonic() + 60 * minutes
