"""PyTorch with Transformers as a runner: the same package, scaled dot-product attention, FP32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers

from bench.peers.runner import Ids, Vector


class PyTorchRunner:
    """`AutoModel` in eager inference mode; a lone row has no padding, so no mask is given."""

    def __init__(self, folder: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        self._model = transformers.AutoModel.from_pretrained(
            folder, attn_implementation="sdpa", dtype=torch.float32, local_files_only=True
        ).eval()

    @property
    def name(self) -> str:
        """The peer."""
        return "PyTorch"

    def prepare(self, length: int) -> None:
        """Nothing is compiled."""

    def __call__(self, ids: Ids) -> Vector:
        """The pooled vector."""
        with torch.inference_mode():
            hidden = self._model(input_ids=torch.from_numpy(ids.astype(np.int64))[None]).last_hidden_state
            vector: Vector = hidden[0].mean(dim=0).numpy()
        return vector

    def close(self) -> None:
        """Let go of the weights."""
        del self._model
