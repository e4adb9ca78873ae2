"""This project's engine as a runner: the package loaded as the server loads it, `batching: exact`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import jax
import numpy as np

from bench.peers.runner import Ids, Vector
from checkpoints.package import load, resolve, verify
from vela_jax.contract import Readout, Row
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.network import pure_network

ROW_COUNTS: Final = (1,)  # a lone row's own; further counts would be built while others are timed


class EngineRunner:
    """One row through `BucketEngine`, host to host. `max_length` is bounded by the backbone's positions."""

    def __init__(self, folder: Path, max_length: int) -> None:
        loaded = load(verify(resolve(str(folder))))
        limit = min(max_length, loaded.backbone.max_position_embeddings)
        network = pure_network(loaded.graphdef, loaded.params, limit)
        args = EngineArgs(warmup=(), background=(), row_buckets=ROW_COUNTS)
        self._engine = BucketEngine(network, args, jax.devices("cpu")[0])
        self._readout = Readout(f"pooled.{network.depths[-1]}", network.depths[-1])

    @property
    def name(self) -> str:
        """This project."""
        return "Vela JAX"

    def prepare(self, length: int) -> None:
        """Compile the bucket of this length."""
        for future in self._engine.prepare([self._row(np.zeros(length, np.int32))]):
            future.result()

    def __call__(self, ids: Ids) -> Vector:
        """The pooled vector."""
        rows = [self._row(ids)]
        (batch,) = self._engine.batches(rows)
        (vector,) = self._engine.run(rows, batch)
        return vector

    def close(self) -> None:
        """End the engine's thread."""
        self._engine.close(None)

    def _row(self, ids: Ids) -> Row:
        return Row(ids, self._readout)
