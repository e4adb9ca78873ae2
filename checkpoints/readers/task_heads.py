"""Packages with a ModernBERT or Qwen3 backbone: which kind one is, and the reader of that kind.

(Vela 1.0 format, sections 1 and 2.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError
from checkpoints.readers import classifier, embedder, reranker
from checkpoints.readers.classifier import TASK_ARCHITECTURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder
    from checkpoints.readers.options import TaskHeadsOptions
    from checkpoints.readers.reading import Reading

DOWNLOAD_PATTERNS: Final = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "operating_point.json",
    "1_Pooling/config.json",
    "modules.json",
    "config_sentence_transformers.json",
    "matryoshka_config.json",
    "classification_heads.safetensors",
    "onnx/model.onnx",
    "onnx/model_layer_*.onnx",
    "onnx/weights.data",
)
_BACKBONE_ALONE: Final = "ModernBertModel"


def detect(folder: PackageFolder, config: Mapping[str, Any]) -> bool:
    """True for a package of this family (section 1)."""
    architectures = _architectures(config)
    model_type = config.get("model_type")
    if model_type == "modernbert":
        if set(architectures) & set(TASK_ARCHITECTURES):
            return True
        return set(architectures) == {_BACKBONE_ALONE} and (embedder.has_files(folder) or reranker.has_files(folder))
    return model_type == "qwen3" and embedder.has_files(folder)


def read(folder: PackageFolder, config: Mapping[str, Any], options: TaskHeadsOptions) -> Reading:
    """Read a detected package. Raises PackageError or ConfigError naming the file and the fault."""
    tasks = sorted(set(_architectures(config)) & set(TASK_ARCHITECTURES))
    modernbert = config["model_type"] == "modernbert"
    if not tasks and modernbert and reranker.has_files(folder):
        return reranker.read(folder, config, options)
    if not tasks:
        return embedder.read(folder, config)
    if len(tasks) > 1:
        raise PackageError(f"config.json: architectures lists {' and '.join(tasks)}; exactly one of them is allowed")
    if not modernbert:
        raise PackageError(f"config.json: architectures lists {tasks[0]}, so model_type must be modernbert")
    return classifier.read(folder, config, tasks[0])


def _architectures(config: Mapping[str, Any]) -> list[str]:
    listed = config.get("architectures")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
