"""Readers of packages: what one says beside its weights, by the kind of its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checkpoints.files import PackageError, PackageFolder
from checkpoints.readers import causal, sentence_transformers, task_heads, vela2, vela2_decoder
from checkpoints.readers.options import TaskHeadsOptions
from vela_jax.layers.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from checkpoints.readers.reading import Reading

DOWNLOAD_PATTERNS = (
    *task_heads.DOWNLOAD_PATTERNS,
    *sentence_transformers.DOWNLOAD_PATTERNS,
    *vela2.DOWNLOAD_PATTERNS,
    *vela2_decoder.DOWNLOAD_PATTERNS,
    *causal.DOWNLOAD_PATTERNS,
)


def read_package(folder: PackageFolder, options: Mapping[str, Any]) -> Reading:
    """Read a package of a known layout, weights aside; `options` are those of the models file.

    Raises PackageError for any other, and for any fault.
    """
    config = folder.json_object("config.json")
    try:
        if vela2.detect(config):
            return vela2.read(folder, config, options)
        if vela2_decoder.detect(config):
            return vela2_decoder.read(folder, config, options)
        if task_heads.detect(folder, config):
            return task_heads.read(folder, config, TaskHeadsOptions.from_mapping(options))
        if sentence_transformers.detect(folder, config):
            return sentence_transformers.read(folder, config)
        if causal.detect(folder, config):
            return causal.read(folder, config, options)
    except ConfigError as error:
        raise PackageError(f"{error}. Serve another package, or correct this one") from error
    raise PackageError(
        f"config.json: model_type {config.get('model_type')!r} with architectures {config.get('architectures')!r} "
        "is no package that this server reads: ModernBERT with a sequence or token classification head, "
        "a ModernBERT, Qwen3 or BERT embedder with 1_Pooling/config.json and modules.json, "
        "a ModernBERT reranker with matryoshka_config.json and classification_heads.safetensors, "
        "a Vela 2.0 encoder or decoder (vela2-unified or vela2-decoder, format_version 1), "
        "or a Qwen3 or Llama model with its output head"
    )
