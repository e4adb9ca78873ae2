"""How long work on a package reports where it is: the stage, and how much of it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum


class Stage(StrEnum):
    """Stages of a load, in order."""

    RESOLVE = "resolve"
    DOWNLOAD = "download"
    VERIFY = "verify"
    READ = "read"
    BUILD = "build"


Progress = Callable[[Stage, int, int], None]  # (stage, bytes done, bytes in all; 0 where unknown)


def silent(stage: Stage, done: int, total: int) -> None:
    """Report to nobody."""


class ByteCounter:
    """Adds up bytes that several threads work through, and reports the sum."""

    def __init__(self, stage: Stage, total: int, progress: Progress) -> None:
        self._stage, self._total, self._progress = stage, total, progress
        self._done = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """Report `count` more bytes; the reports come one after another."""
        with self._lock:
            self._done += count
            self._progress(self._stage, self._done, self._total)
