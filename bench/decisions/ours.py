"""This project's engine on the rows of a decisions request, as the server plans and runs them."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from bench.decisions.signals import SIGNALS
from bench.peers.ours import ROW_COUNTS
from bench.peers.runner import Vector
from checkpoints.models import build_model
from checkpoints.package import load, resolve, verify
from vela_jax.contract import Row, Surface
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.network import pure_network
from vela_jax.surfaces.requests import DecisionsRequest


class EngineRunner:
    """One planned row through `BucketEngine`, host to host."""

    def __init__(self, folder: Path) -> None:
        loaded = load(verify(resolve(str(folder))))
        device = jax.devices("cpu")[0]
        self._model = build_model(loaded, device.platform)
        network = pure_network(loaded.graphdef, loaded.params, loaded.max_input_tokens)
        self._engine = BucketEngine(network, EngineArgs(warmup=(), background=(), row_buckets=ROW_COUNTS), device)

    @property
    def name(self) -> str:
        """This project."""
        return "Vela JAX"

    def row(self, state: str) -> Row:
        """The one row that the signals about a state are read from."""
        plan = self._model.plan(Surface.DECISIONS, DecisionsRequest(state=state, questions=dict(SIGNALS)))
        (row,) = plan.rows
        return row

    def prepare(self, length: int) -> None:
        """A bucket is compiled at the first row."""

    def __call__(self, row: Row) -> Vector:
        """The logits of the options, then those of every token against the labels, flat."""
        for opening in self._engine.prepare([row]):
            opening.result()
        (batch,) = self._engine.batches([row])
        (found,) = self._engine.run([row], batch)
        assert row.marks is not None
        labels = np.count_nonzero(row.marks[3])
        vector: Vector = np.concatenate([found[row.marks[2] > 0, 0], found[:, 1 : 1 + labels].ravel()])
        return vector

    def close(self) -> None:
        """End the engine's thread."""
        self._engine.close(None)
