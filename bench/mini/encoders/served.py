"""Asks a package as the server would: the family's own plan and answer around a plain forward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from bench.mini.training.shapes import batches, padded
from checkpoints.models import build_model
from checkpoints.package import load, resolve, verify
from vela_jax.contract import Row, Surface


class Served:
    """A package of the task-heads family, loaded."""

    def __init__(self, folder: Path) -> None:
        loaded = load(verify(resolve(str(folder))))
        self.spec: Any = loaded.spec
        self.parameters = loaded.provenance.parameters
        self._model = build_model(loaded, "cpu")
        self._params = loaded.params
        self._forward = jax.jit(
            lambda params, ids, lengths, depth: nnx.merge(loaded.graphdef, params)(ids, lengths, depth),
            static_argnums=3,
        )

    def ask(self, surface: Surface, requests: Sequence[Any]) -> list[Any]:
        """The body of the answer to each request."""
        plans = [self._model.plan(surface, request) for request in requests]
        outputs = iter(self._run([row for plan in plans for row in plan.rows]))
        return [plan.assemble([next(outputs) for _ in plan.rows]).body for plan in plans]

    def _run(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        found: list[Any] = [None] * len(rows)
        for depth in sorted({row.readout.depth for row in rows}):
            asked = [place for place, row in enumerate(rows) if row.readout.depth == depth]
            for shape in batches([rows[place].length for place in asked]):
                chosen = [asked[index] for index in shape.indices]
                ids, lengths = padded([rows[place].ids for place in chosen], shape)
                out = {key: np.asarray(each) for key, each in self._forward(self._params, ids, lengths, depth).items()}
                for slot, place in enumerate(chosen):
                    found[place] = _cut(out, rows[place], slot)
        return found


def _cut(out: dict[str, NDArray[np.float32]], row: Row, slot: int) -> NDArray[np.float32]:
    values: NDArray[np.float32] = out[row.readout.name][slot]
    return values[: row.length] if row.readout.per_token else values
