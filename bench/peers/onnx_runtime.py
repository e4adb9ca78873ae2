"""ONNX Runtime as a runner: the same weights as a graph of our writing, CPU provider, FP32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from bench.peers.graphs import write_graph
from bench.peers.runner import Ids, Vector


class OnnxRunner:
    """One session for all lengths; its threads rest between calls, so that they take nothing from other runners."""

    def __init__(self, folder: Path, scratch: Path, max_length: int, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.force_spinning_stop", "1")
        path = write_graph(folder, scratch / f"{folder.name}.onnx", max_length)
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    @property
    def name(self) -> str:
        """The peer."""
        return "ONNX Runtime"

    def prepare(self, length: int) -> None:
        """Nothing is compiled."""

    def __call__(self, ids: Ids) -> Vector:
        """The pooled vector."""
        (pooled,) = self._session.run(["pooled"], {"ids": ids.astype(np.int64)[None]})
        vector: Vector = pooled[0]
        return vector

    def close(self) -> None:
        """Let go of the session and its threads."""
        del self._session
