"""The endless stream of batches, made chunk by chunk: a chunk is the same whenever and wherever it is made."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.mini.tasks.mixture import examples
from bench.mini.teacher import Teacher
from bench.mini.texts.split import Split
from bench.mini.training.losses import Batch, collate
from bench.mini.training.rows import RowMaker
from bench.mini.training.shapes import batches

CHUNK: Final = 1024
"""Examples of a chunk."""
_STRIDE: Final = 1_000_003


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """What batches are made with. `projection` [P D] takes the teacher's vectors to the student's width."""

    maker: RowMaker
    teacher: Teacher
    projection: NDArray[np.float32]
    seed: int

    def batches(self, chunk: int) -> Iterator[Batch]:
        """The batches of a chunk, in an order of its own."""
        seed = self.seed * _STRIDE + chunk
        made = [self.maker.make(each) for each in itertools.islice(examples(seed, Split.TRAIN), CHUNK)]
        rows = [row for row in made if row is not None]
        vectors = self._vectors([row.texts for row in rows])
        for shape in batches([len(row.ids) for row in rows], random.Random(seed)):
            chosen = list(shape.indices)
            yield collate(
                [rows[index] for index in chosen], shape, [vectors[index] for index in chosen], len(self.projection)
            )

    def _vectors(self, texts: list[tuple[str, ...]]) -> list[NDArray[np.float32] | None]:
        flat = [text for row in texts for text in row]
        if not flat:
            return [None] * len(texts)
        projected = project(self.teacher.vectors(flat), self.projection)
        found: list[NDArray[np.float32] | None] = []
        start = 0
        for row in texts:
            found.append(projected[start : start + len(row)] if row else None)
            start += len(row)
        return found


def project(vectors: NDArray[np.float32], projection: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors [N D] along the axes [P D], of length 1."""
    found = vectors @ projection.T
    length = np.linalg.norm(found, axis=-1, keepdims=True).astype(np.float32)
    unit: NDArray[np.float32] = found / np.maximum(length, np.float32(1e-6))
    return unit
