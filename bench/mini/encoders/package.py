"""Writes a trained encoder as a package of the released Vela 1.0 format, with a model card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from flax import nnx
from safetensors.numpy import save_file

from bench.mini.card import About, notice, write_card
from bench.mini.encoders.model import Encoder
from bench.mini.encoders.networks import MAX_TOKENS
from bench.mini.encoders.pieces import NAMES, Pieces
from bench.mini.weights import begin, stored
from checkpoints.keymaps import CLASSIFIER_HEAD, RELEVANCE_SCORERS, merged
from checkpoints.keymaps.modernbert import backbone_map
from checkpoints.readers.classifier import TASK_ARCHITECTURES

SCORERS: Final = "classification_heads.safetensors"
_TORCH_NAMES: Final = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}


def write_encoder(
    directory: Path,
    encoder: Encoder,
    network: nnx.Module,
    config: Mapping[str, Any],
    pieces: Pieces,
    *,
    figures: Mapping[str, Any] | None = None,
    trained: str = "",
    dtype: str = "BF16",
) -> Path:
    """Write a package into a directory, which is made. Raises ValueError when it holds anything, or for the dtype."""
    begin(directory, dtype)
    limits = {"model_max_length": MAX_TOKENS}
    files = {
        "config.json": {**config, "torch_dtype": _TORCH_NAMES[dtype]},
        "tokenizer.json": pieces.tokenizer.encode(),
        "tokenizer_config.json": {**NAMES, **limits, "do_lower_case": not encoder.cased},
        "special_tokens_map.json": NAMES,
        "NOTICE": notice().encode(),
        **encoder.files(),
    }
    for name, content in files.items():
        _write(directory / name, content)
    values = _write_weights(directory, encoder, network, dtype)
    size = encoder.size
    about = About(
        title=encoder.title,
        text=encoder.about,
        shape=f"ModernBERT with {size.layers} layers of {size.hidden} and {size.pieces} pieces",
        files=f"The format is that of the Vela 1.0 models. {encoder.note}",
        most_tokens=MAX_TOKENS,
        trained=trained,
    )
    write_card(directory, about, values, figures or {})
    return directory


def _write_weights(directory: Path, encoder: Encoder, network: nnx.Module, dtype: str) -> int:
    """Write the tensors; how many values they have. Scorers are FP32 in every package."""
    prefix = "model." if encoder.architecture in TASK_ARCHITECTURES else ""
    weights = stored(network, merged((backbone_map(prefix), CLASSIFIER_HEAD)), dtype)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    scorers = stored(network, RELEVANCE_SCORERS)
    if scorers:
        save_file(scorers, directory / SCORERS, metadata={"format": "pt"})
    return sum(values.size for values in (*weights.values(), *scorers.values()))


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
