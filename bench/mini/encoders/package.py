"""Writes a trained encoder as a package of the released Vela 1.0 format, with a model card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from flax import nnx
from safetensors.numpy import save_file

from bench.mini.encoders.model import Encoder
from bench.mini.encoders.networks import MAX_TOKENS
from bench.mini.encoders.pieces import NAMES, Pieces
from bench.mini.texts.sources import SOURCES
from bench.mini.weights import DTYPES, stored
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
    dtype: str = "BF16",
) -> Path:
    """Write a package into a directory, which is made. Raises ValueError when it holds anything, or for the dtype."""
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}: choose one of {', '.join(DTYPES)}")
    if directory.exists() and any(directory.iterdir()):
        raise ValueError(f"{directory} is not empty: choose another one")
    directory.mkdir(parents=True, exist_ok=True)
    limits = {"model_max_length": MAX_TOKENS}
    files = {
        "config.json": {**config, "torch_dtype": _TORCH_NAMES[dtype]},
        "tokenizer.json": pieces.tokenizer.encode(),
        "tokenizer_config.json": {**NAMES, **limits, "do_lower_case": not encoder.cased},
        "special_tokens_map.json": NAMES,
        "NOTICE": _notice().encode(),
        **encoder.files(),
    }
    for name, content in files.items():
        _write(directory / name, content)
    values = _write_weights(directory, encoder, network, dtype)
    (directory / "README.md").write_text(_card(directory, encoder, values, figures or {}), encoding="utf-8")
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


def _notice() -> str:
    return "".join(f"{source.name}: {source.licence}. {source.notice}".strip() + "\n" for source in SOURCES)


def _card(directory: Path, encoder: Encoder, values: int, figures: Mapping[str, Any]) -> str:
    size = encoder.size
    megabytes = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6
    sources = "\n".join(f"- {source.name}: {source.licence}. {source.notice}".strip() for source in SOURCES)
    rows = "\n".join(f"| {name} | {value} |" for name, value in figures.items())
    judged = f"| Figure | Value |\n| --- | --- |\n{rows}" if rows else "Not judged."
    return f"""---
license: apache-2.0
language: en
---
# {encoder.title}

{encoder.about} A small model for demonstrations: ModernBERT with {size.layers} layers of {size.hidden} and
{size.pieces} pieces, {values:,} values, {megabytes:.1f} MB.

## Files

The format is that of the Vela 1.0 models. {encoder.note}

## What it learned from

{sources}

Texts are sentences filled from tables, phrases and definitions; none is about a real person.

## Figures

On texts of held-out patterns, topics, names and words, made in the same way as those of training:

{judged}

## Limits

English only; short texts (it was trained on sentences, and reads at most {MAX_TOKENS} tokens). Its patterns are few, so
texts from elsewhere are read worse than the figures say. It shows how such a model is served and is no basis for
decisions about people or for protection.
"""
