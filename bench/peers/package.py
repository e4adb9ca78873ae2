"""Writes the encoder that peers are compared on: random weights at the released sizes, in the released format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from safetensors.numpy import save_file

from checkpoints.fixtures import write_fixture
from checkpoints.fixtures.tensors import modernbert_shapes, random_tensors

RELEASED: Final[Mapping[str, int]] = MappingProxyType(
    {
        "hidden_size": 768,
        "intermediate_size": 1152,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "local_attention": 128,
        "vocab_size": 8192,
    }
)
"""The released encoders, but for the vocabulary: its size costs memory and no time."""


def write_encoder(folder: Path, sizes: Mapping[str, int] = RELEASED, seed: int = 0) -> Path:
    """Write a ModernBERT embedder of these sizes into `folder`, which is made; equal seeds give equal weights."""
    root = write_fixture(folder, "embedding", seed)
    config: dict[str, Any] = {**json.loads((root / "config.json").read_text(encoding="utf-8")), **sizes}
    _write(root / "config.json", config)
    pooling = root / "1_Pooling" / "config.json"
    _write(
        pooling, {**json.loads(pooling.read_text(encoding="utf-8")), "word_embedding_dimension": sizes["hidden_size"]}
    )
    for graph in (root / "onnx").iterdir():  # their names are exits of the fixture's own depth
        graph.unlink()
    save_file(random_tensors(modernbert_shapes(config), seed), root / "model.safetensors", {"format": "pt"})
    return root


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
