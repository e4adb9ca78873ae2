"""Writes a trained student as a package: `vela2-unified` with a BERT encoder, in two bytes a value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from safetensors.numpy import save_file

from bench.mini.calibration import Fitted
from bench.mini.card import About, notice, write_card
from bench.mini.student import Student
from bench.mini.vocabulary import BEGIN, END, PAD, Cut
from bench.mini.weights import begin, stored
from checkpoints.keymaps import MARKED_ENCODERS
from vela_jax.backbones.bert import BertConfig
from vela_jax.families.vela2.encoder_layout import MARKERS

WINDOW_OVERLAP: Final = 64
KEY_MAP: Final = MARKED_ENCODERS["bert"]
"""Names of the tensors on disk."""


def write_package(
    directory: Path,
    name: str,
    student: Student,
    cut: Cut,
    fitted: Fitted,
    *,
    figures: Mapping[str, Any] | None = None,
    trained: str = "",
    dtype: str = "BF16",
) -> Path:
    """Write a package into a directory, which is made. Raises ValueError when it holds anything, or for the dtype."""
    begin(directory, dtype)
    weights = stored(student, KEY_MAP, dtype)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "tokenizer.json").write_text(cut.tokenizer, encoding="utf-8")
    _write_json(directory / "config.json", _config(name, student, cut))
    _write_json(directory / "calibration.json", fitted.members())
    (directory / "NOTICE").write_text(notice(), encoding="utf-8")
    _write_sums(directory, ("calibration.json", "config.json", "model.safetensors", "tokenizer.json"))
    values = sum(each.size for each in weights.values())
    write_card(directory, _about(name, student, trained), values, figures or {})
    return directory


def _about(name: str, student: Student, trained: str) -> About:
    config = student.backbone.config
    return About(
        title=name,
        text="Answers typed questions about a text: choice, noul, score, set and span; presets pii and relevance.",
        shape=f"BERT with {config.num_hidden_layers} layers of {config.hidden_size} and {config.vocab_size} pieces",
        files="The format is that of the Vela 2.0 encoder; its `encoder_config` is that of a BERT.",
        most_tokens=config.max_position_embeddings,
        trained=trained,
    )


def _config(name: str, student: Student, cut: Cut) -> dict[str, Any]:
    backbone = student.backbone.config
    assert isinstance(backbone, BertConfig)
    vocabulary = json.loads(cut.tokenizer)["model"]["vocab"]
    return {
        "architectures": ["Vela2Model"],
        "model_type": "vela2-unified",
        "format_version": 1,
        "model_name": name,
        "encoder_config": {"model_type": "bert", "position_embedding_type": "absolute", **asdict(backbone)},
        "proj_dim": int(student.head.w_o.weight[...].shape[0]),
        "readout": str(student.head.readout),
        "markers": list(MARKERS),
        "marker_ids": cut.markers,
        "bos_token_id": vocabulary[BEGIN],
        "eos_token_id": vocabulary[END],
        "pad_token_id": vocabulary[PAD],
        "max_length": backbone.max_position_embeddings,
        "window_overlap": WINDOW_OVERLAP,
    }


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_sums(directory: Path, names: Iterable[str]) -> None:
    lines = [f"{hashlib.sha256((directory / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (directory / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
