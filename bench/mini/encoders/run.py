"""A training run of an encoder in a folder: what it starts from is made once, and kept beside its checkpoint."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from bench.mini.encoders import sentences
from bench.mini.encoders.embedding import Embedding
from bench.mini.encoders.labelling import DOMAIN, GUARD, PII
from bench.mini.encoders.model import STRIDE, Encoder, Given
from bench.mini.encoders.networks import config_members, make_network, unit
from bench.mini.encoders.pieces import Pieces, make_pieces
from bench.mini.encoders.reranking import Reranker
from bench.mini.student import principal_axes
from bench.mini.teacher import Teacher
from bench.mini.training.trainer import Trainer

ENCODERS: Final[Mapping[str, Encoder]] = MappingProxyType(
    {"embedding": Embedding(), "reranker": Reranker(), "domain": DOMAIN, "guard": GUARD, "pii": PII}
)
"""All five by name."""
_CORPUS: Final = 40_000
_AXES: Final = 4_000  # texts whose vectors give the axes
_COMMON_AXES: Final = 2  # along which all pieces read alone differ most, whatever they mean
_START: Final = "start.npz"
_TEACHER: Final = "teacher"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The schedule of an encoder."""

    steps: int
    learning_rate: float
    weight_decay: float = 0.01
    save_every: int = 200

    def weights(self, _step: int, /) -> tuple[float, ...]:
        """One loss, of the same weight throughout."""
        return (1.0,)


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """What a run starts from."""

    pieces: Pieces
    vectors: NDArray[np.float32]  # [V D], of pieces, turned
    axes: NDArray[np.float32]  # [D D]


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The batches of an encoder."""

    encoder: Encoder
    given: Given

    def batches(self, chunk: int) -> Iterator[Any]:
        """The batches of a chunk."""
        return self.encoder.batches(self.given, chunk)


@dataclass(frozen=True, slots=True, eq=False)
class EncoderRun:
    """A run: its encoder, its trainer, and what its batches are made with."""

    steps: int
    encoder: Encoder
    start: Start
    config: dict[str, Any]
    trainer: Trainer[nnx.Module]
    chunks: Stream
    teacher: Teacher


def open_encoder(
    home: Path, name: str, steps: Steps, seed: int = 0, teacher: Teacher | None = None, encoder: Encoder | None = None
) -> EncoderRun:
    """Begin the run of an encoder in a folder of its own under `home`, or take it up where it was left.

    Raises ValueError where it begins with another encoder that is not trained yet.
    """
    teacher = teacher or Teacher(home / _TEACHER)
    encoder = encoder or ENCODERS[name]
    folder = home / name
    start = _read_start(folder / _START) or _make_start(folder / _START, encoder, teacher, home, seed)
    config = {**config_members(encoder.size, start.pieces, encoder.architecture), **encoder.members()}
    network = make_network(config, encoder.spec(config), start.pieces, start.vectors, seed)
    if encoder.begins_as:
        old = open_encoder(home, encoder.begins_as, steps, seed, teacher)
        _begin_as(network, old.trainer.network(), start.pieces.rows)
    trainer = Trainer(network, steps, folder, encoder.loss)
    given = Given(start.pieces.texts, teacher, start.axes, seed)
    return EncoderRun(steps.steps, encoder, start, config, trainer, Stream(encoder, given), teacher)


def _make_start(path: Path, encoder: Encoder, teacher: Teacher, home: Path, seed: int) -> Start:
    corpus = encoder.corpus(random.Random(seed), _CORPUS)
    if encoder.begins_as:
        old = _read_start(home / encoder.begins_as / _START)
        if old is None:
            raise ValueError(f"train {encoder.begins_as} in {home} first: this encoder begins as that one ended")
        pieces = make_pieces(old.pieces.tokenizer, corpus, encoder.size.pieces, cased=encoder.cased)
        start = Start(pieces, old.vectors[pieces.rows], old.axes)
    else:
        pieces = make_pieces(teacher.tokenizer_file, corpus, encoder.size.pieces, cased=encoder.cased)
        axes = principal_axes(teacher.vectors(sentences.texts(seed * STRIDE, _AXES)), teacher.width)
        start = Start(pieces, _meanings(teacher.piece_vectors(pieces.rows.tolist())) @ axes.T, axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    named = np.frombuffer(pieces.tokenizer.encode(), np.uint8)
    arrays: dict[str, Any] = {"rows": pieces.rows, "capital": pieces.capital, "share": pieces.share}
    arrays |= {"tokenizer": named, "vectors": start.vectors, "axes": start.axes}
    np.savez(path, allow_pickle=False, **arrays)
    return start


def _read_start(path: Path) -> Start | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        pieces = Pieces(file["tokenizer"].tobytes().decode(), file["rows"], file["capital"], file["share"])
        return Start(pieces, file["vectors"], file["axes"])


def _meanings(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of pieces without what all of them have in common, of length 1."""
    centred = vectors - vectors.mean(axis=0)
    common = principal_axes(vectors, _COMMON_AXES)
    return unit(centred - centred @ common.T @ common)


def _begin_as(network: Any, old: Any, rows: NDArray[np.int32]) -> None:
    """Take over the layers, the norms, and the rows of the table."""
    new, other = network.backbone, old.backbone
    table = other.embeddings.tok_embeddings.weight[...]
    nnx.update(new.embeddings.norm, nnx.state(other.embeddings.norm))
    nnx.update(new.final_norm, nnx.state(other.final_norm))
    new.embeddings.tok_embeddings.weight[...] = jnp.take(table, jnp.asarray(rows), axis=0)
    for own, layer in zip(new.layers, other.layers, strict=False):
        nnx.update(own, nnx.state(layer))
