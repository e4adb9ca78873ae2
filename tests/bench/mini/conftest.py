"""A tiny teacher with random weights, and a student made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.mini.run import Start
from bench.mini.student import Student, make_student, principal_axes
from bench.mini.tasks.example import Ask, Example
from bench.mini.teacher import Teacher
from bench.mini.training.rows import RowMaker
from bench.mini.vocabulary import cut
from checkpoints.fixtures.packages import write_fixture
from checkpoints.package import LoadedPackage, load, resolve, verify

TEXTS = ("the quick brown fox", "please route this request", "cooking", "travel", "what is this about")


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedPackage:
    folder = tmp_path_factory.mktemp("teacher") / "package"
    return load(verify(resolve(str(write_fixture(folder, "sentence_bert")))))


@pytest.fixture(scope="session")
def teacher(loaded: LoadedPackage, tmp_path_factory: pytest.TempPathFactory) -> Teacher:
    return Teacher(tmp_path_factory.mktemp("vectors"), loaded)


@pytest.fixture(scope="session")
def start(teacher: Teacher) -> Start:
    texts = [*TEXTS, *(f"{text} {other}" for text in TEXTS for other in TEXTS)]
    vectors = teacher.vectors(texts)
    return Start(cut(teacher.tokenizer_file, texts, 150), principal_axes(vectors, 16))


@pytest.fixture
def student(teacher: Teacher, start: Start) -> Student:
    return make_student(teacher.backbone, start.cut, start.projection)


@pytest.fixture(scope="session")
def maker(start: Start) -> RowMaker:
    return RowMaker(start.tokenizer, start.special, 128)


@pytest.fixture
def choice() -> Example:
    raw = {"type": "choice", "instructions": "topic", "criteria": {"a": "food", "b": None, "c": None}}
    return Example("the fox", (Ask("choice", raw, 1),))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
