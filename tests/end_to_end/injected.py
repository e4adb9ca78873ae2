"""Engines that fail where a text says so, in this process or in a `vela` of its own (`python -m` this module)."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

import numpy as np
from numpy.typing import NDArray

from serving.config import ModelEntry
from serving.loaded import LoadedModel, Report
from serving.loader import LoadModel
from vela_jax.contract import Batch, DeviceFault, Engine, OutOfMemory, Row

PATIENCE: Final = 60.0
SLOW_SECONDS: Final = 0.4
BREAKS, FILLS, FAULTS, SLOWS = "<pad>", "<mask>", "<unk>", "<bos>"
"""Special tokens of the tiny packages: a row with one breaks its forward, fills memory, ends the device, is slow."""
_IDS: Final = {BREAKS: 0, FAULTS: 3, FILLS: 4, SLOWS: 2}


class Injected:
    """Runs forwards one at a time through a gate that a test may close, and fails those with a marked row."""

    def __init__(self, engine: Engine) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.held = 0  # forwards that came to the closed gate
        self._engine = engine

    def prepare(self, rows: Sequence[Row]) -> list[Future[None]]:
        """As the engine does."""
        return self._engine.prepare(rows)

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """As the engine does."""
        return self._engine.batches(rows)

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        """Wait at the gate, fail as marked, else run."""
        if not self.gate.is_set():
            self.held += 1
            assert self.gate.wait(PATIENCE)
        marks = {int(token) for index in batch.indices for token in rows[index].ids[1:-1]}
        if _IDS[SLOWS] in marks:
            time.sleep(SLOW_SECONDS)
        if _IDS[BREAKS] in marks:
            raise RuntimeError("this forward breaks")
        if _IDS[FILLS] in marks:
            raise OutOfMemory("RESOURCE_EXHAUSTED: 8 GiB")
        if _IDS[FAULTS] in marks:
            raise DeviceFault("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")
        return self._engine.run(rows, batch)


def inject(load: LoadModel) -> LoadModel:
    """Load models with injected engines."""

    def load_and_inject(entry: ModelEntry, report: Report) -> LoadedModel:
        loaded = load(entry, report)
        return dataclasses.replace(loaded, engine=Injected(loaded.engine))

    return load_and_inject


if __name__ == "__main__":
    from serving.cli import main, serve

    as_it_is = serve._lazy_load
    serve._lazy_load = lambda *told: inject(as_it_is(*told))
    sys.exit(main())
