"""A training run in a folder: what it starts from is made once, and kept beside its checkpoint."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.mini.student import PROJ_DIM, Student, make_student, principal_axes
from bench.mini.tasks.example import Example
from bench.mini.tasks.mixture import examples
from bench.mini.teacher import Teacher
from bench.mini.texts.dictionary import entries
from bench.mini.texts.split import Split
from bench.mini.training.chunks import Chunks
from bench.mini.training.rows import RowMaker
from bench.mini.training.trainer import Recipe, Trainer, decision_loss
from bench.mini.vocabulary import BEGIN, END, Cut, cut
from checkpoints.package import LoadedPackage
from vela_jax.families.vela2.encoder_layout import MARKERS, EncoderIds
from vela_jax.text.tokenizer import TextTokenizer, without_added

PIECES: Final = 10_000
_EXAMPLES: Final = 20_000  # whose texts decide which pieces stay
_GLOSSES: Final = 20_000
_VECTORS: Final = 3_000  # texts whose vectors give the axes of the head
_START: Final = "start.npz"


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """What a run starts from."""

    cut: Cut
    projection: NDArray[np.float32]  # [P D]

    @property
    def special(self) -> EncoderIds:
        """Ids of the special tokens."""
        vocabulary = json.loads(self.cut.tokenizer)["model"]["vocab"]
        return EncoderIds(vocabulary[BEGIN], vocabulary[END], self.cut.markers)

    @property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer as a server reads it: no text gives a marker."""
        return TextTokenizer.from_json(without_added(self.cut.tokenizer.encode(), MARKERS))


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run: its trainer, and what its batches are made with."""

    start: Start
    trainer: Trainer[Student]
    chunks: Chunks


def open_run(home: Path, recipe: Recipe, seed: int = 0, loaded: LoadedPackage | None = None) -> Run:
    """Begin the run of a folder, or take it up where it was left. `loaded` is another teacher than the embedded one."""
    teacher = Teacher(home / "teacher", loaded)
    start = _read_start(home / _START) or _make_start(home / _START, teacher, seed)
    student = make_student(teacher.backbone, start.cut, start.projection, seed)
    chunks = Chunks(RowMaker(start.tokenizer, start.special), teacher, start.projection, seed)
    return Run(start, Trainer(student, recipe, home, decision_loss), chunks)


def trained(home: Path, recipe: Recipe, seed: int = 0) -> tuple[Student, Start]:
    """The student of a folder as its run left it."""
    run = open_run(home, recipe, seed)
    return run.trainer.network(), run.start


def _make_start(path: Path, teacher: Teacher, seed: int) -> Start:
    made = list(itertools.islice(examples(seed, Split.TRAIN), _EXAMPLES))
    glosses = itertools.islice((entry.gloss for entry in entries()), 0, None, 5)
    texts = [text for example in made for text in _texts(example)]
    pieces = cut(
        teacher.tokenizer_file,
        itertools.chain(texts, itertools.islice(glosses, _GLOSSES)),
        PIECES,
    )
    states = list(dict.fromkeys(texts))[:_VECTORS]
    start = Start(pieces, principal_axes(teacher.vectors(states), min(PROJ_DIM, teacher.width)))
    path.parent.mkdir(parents=True, exist_ok=True)
    named = np.frombuffer(json.dumps([pieces.tokenizer, pieces.markers]).encode(), np.uint8)
    np.savez(path, rows=pieces.rows, projection=start.projection, named=named)
    return start


def _read_start(path: Path) -> Start | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        tokenizer, markers = json.loads(file["named"].tobytes())
        return Start(Cut(tokenizer, file["rows"], markers), file["projection"])


def _texts(example: Example) -> Iterator[str]:
    yield from example.state.values() if isinstance(example.state, dict) else (example.state,)
    for ask in example.asks:
        criteria = ask.raw.get("criteria") or ()
        yield ask.raw["instructions"]
        yield from (key.replace("_", " ") for key in criteria)
        if isinstance(criteria, dict):
            yield from (text for text in criteria.values() if text)
