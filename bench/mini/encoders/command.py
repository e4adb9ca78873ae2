"""What the command does with one of the small encoders: train it, judge it, write its package."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from bench.mini.encoders.model import Exam
from bench.mini.encoders.package import write_encoder
from bench.mini.encoders.run import ENCODERS, EncoderRun, Steps, open_encoder
from bench.mini.encoders.served import Served
from bench.mini.progress import progress_bar, until
from bench.mini.training.trainer import Progress

_JUDGED: Final = 2000


def train(given: argparse.Namespace, console: Console) -> None:
    """Train an encoder, or go on with it."""
    run = _open(given)
    with progress_bar(console, run.steps, run.trainer.place.step, _shown) as report:
        run.trainer.run(run.chunks, report, until(given.minutes))
    console.print(f"{run.trainer.place.step} of {run.steps} steps done; the run lies in {given.home / given.model}")


def judge(given: argparse.Namespace, console: Console) -> None:
    """Print the figures of an encoder, read from a package as the server reads it."""
    run = _open(given)
    with tempfile.TemporaryDirectory() as folder:
        _write(run, Path(folder), {}, "BF16")
        figures = run.encoder.figures(Exam(Served(Path(folder)), run.teacher, _JUDGED))
    console.print_json(data=dict(figures))


def export(given: argparse.Namespace, console: Console) -> None:
    """Write an encoder as a package."""
    figures = json.loads(given.figures.read_text(encoding="utf-8")) if given.figures else {}
    _write(_open(given), given.output, figures, given.dtype, given.trained)
    size = sum(path.stat().st_size for path in given.output.rglob("*") if path.is_file())
    console.print(f"wrote {given.output}: {size / 1e6:.1f} MB")


def _open(given: argparse.Namespace) -> EncoderRun:
    encoder = ENCODERS[given.model]
    steps = Steps(
        steps=encoder.steps if given.steps is None else given.steps,
        learning_rate=encoder.learning_rate if given.learning_rate is None else given.learning_rate,
    )
    return open_encoder(given.home, given.model, steps, given.seed)


def _write(run: EncoderRun, output: Path, figures: Mapping[str, Any], dtype: str, trained: str = "") -> None:
    network, pieces = run.trainer.network(), run.start.pieces
    write_encoder(output, run.encoder, network, run.config, pieces, figures=figures, trained=trained, dtype=dtype)


def _shown(progress: Progress) -> str:
    parts = " ".join(f"{name} {float(value):.3f}" for name, value in progress.losses.items())
    return f"{progress.rows / progress.seconds:.0f} rows/s, {parts}"
