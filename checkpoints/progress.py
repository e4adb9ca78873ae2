"""How long work on a package reports where it is: the stage, and how much of it is done."""

from __future__ import annotations

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
