"""Encoders small enough for a test, and a run of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.mini.encoders import embedding, labelling, reranking
from bench.mini.encoders import run as runs
from bench.mini.encoders.model import Encoder
from bench.mini.encoders.networks import Size
from bench.mini.encoders.run import ENCODERS, EncoderRun, Steps, open_encoder
from bench.mini.teacher import Teacher
from bench.mini.training import shapes

SIZE = Size(pieces=190, hidden=32, inner=16, layers=2, heads=2)
EXITS: dict[str, dict[str, Any]] = {
    "embedding": {"exits": (1, 2)},
    "reranker": {"exits": ((1, 16), (2, 32))},
}
OpenEncoder = Callable[[str, Path], EncoderRun]


def tiny(name: str) -> Encoder:
    """The encoder in small."""
    encoder: Any = ENCODERS[name]
    small: Encoder = replace(encoder, size=SIZE, **EXITS.get(name, {}))
    return small


@pytest.fixture
def open_tiny(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> OpenEncoder:
    """Opens runs of tiny encoders on few texts."""
    monkeypatch.setattr(runs, "ENCODERS", {name: tiny(name) for name in ENCODERS})
    monkeypatch.setattr(runs, "_CORPUS", 120)
    monkeypatch.setattr(runs, "_AXES", 80)
    monkeypatch.setattr(embedding, "_TEXTS", 12)
    monkeypatch.setattr(embedding, "_DECISIONS", 2)
    monkeypatch.setattr(reranking, "_QUERIES", 6)
    monkeypatch.setattr(labelling, "_TEXTS", 12)
    monkeypatch.setattr(shapes, "WIDTHS", (128, 512))

    def opened(name: str, home: Path) -> EncoderRun:
        return open_encoder(home, name, Steps(steps=2, learning_rate=1e-3), teacher=teacher)

    return opened
