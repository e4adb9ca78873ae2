"""This project's engine on the requests of a decoder, as the server plans and runs them."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from bench.decisions.request import Request
from bench.peers.ours import ROW_COUNTS
from bench.peers.runner import Vector
from checkpoints.models import ServedModel, build_model
from checkpoints.package import load, resolve, verify
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.network import pure_network


class EngineRequests:
    """All rows of a request through `BucketEngine`, host to host; each call asks about the next state."""

    def __init__(self, folder: Path) -> None:
        loaded = load(verify(resolve(str(folder))))
        device = jax.devices("cpu")[0]
        self.model: ServedModel = build_model(loaded, device.platform)
        network = pure_network(loaded.graphdef, loaded.params, loaded.max_input_tokens)
        self._engine = BucketEngine(network, EngineArgs(warmup=(), background=(), row_buckets=ROW_COUNTS), device)
        self._turn = 0

    @property
    def name(self) -> str:
        """This project."""
        return "Vela JAX"

    def prepare(self, length: int) -> None:
        """Begin with the first state. Buckets are compiled at the first call."""
        del length
        self._turn = 0

    def __call__(self, request: Request) -> Vector:
        """What the questions' readouts give for their tokens, one after another."""
        rows = request.turns[self._turn % len(request.turns)]
        self._turn += 1
        for opening in self._engine.prepare(rows):
            opening.result()
        outputs: dict[int, Vector] = {}
        for batch in self._engine.batches(rows):
            outputs.update(zip(batch.indices, self._engine.run(rows, batch), strict=True))
        return np.concatenate([outputs[index] for index in range(len(rows))])

    def close(self) -> None:
        """End the engine's thread."""
        self._engine.close(None)
