"""Sentence-transformers packages with a BERT backbone, served as embedders with one exit and one dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError
from checkpoints.identity import SENTENCE_BERT
from checkpoints.readers import embedder
from checkpoints.readers.classifier import FIVE_FILES
from checkpoints.readers.reading import Members, Reading, read_backbone
from vela_jax.families.task_heads.spec import PooledSpec
from vela_jax.heads.pooling import Pooling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder

LIMITS: Final = "sentence_bert_config.json"
DOWNLOAD_PATTERNS: Final = (LIMITS,)
_OPTIONAL: Final = ("tokenizer_config.json", "special_tokens_map.json", embedder.PROMPTS, LIMITS)
_STACK: Final = tuple(f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling"))
_NORMALIZE: Final = "sentence_transformers.models.Normalize"


def detect(folder: PackageFolder, config: Mapping[str, Any]) -> bool:
    """True for a BERT with a pooling module."""
    return config.get("model_type") == "bert" and embedder.has_files(folder)


def read(folder: PackageFolder, config: Mapping[str, Any]) -> Reading:
    """Read a detected package. Raises PackageError or ConfigError naming the file and the fault."""
    backbone = read_backbone("bert", config)
    pooling = embedder.read_pooling(folder, backbone.hidden_size)
    if pooling is Pooling.LAST_TOKEN:
        raise PackageError(f"{embedder.POOLING}: a BERT encoder is pooled by mean or cls, found {pooling}")
    spec = PooledSpec(
        pooling=pooling,
        dimensions=(backbone.hidden_size,),
        layers=(backbone.num_hidden_layers,),
        normalized=_read_modules(folder),
        final_norm_exits=False,
        prompts=embedder.read_prompts(folder),
    )
    needed = (*FIVE_FILES[:3], embedder.POOLING, embedder.MODULES)
    folder.require(needed)
    return Reading(
        spec=spec,
        model_type="bert",
        backbone=backbone,
        weight_prefix=None,  # released packages have "bert." before every key, or before none
        max_input_tokens=_read_limit(folder, backbone.max_position_embeddings),
        files=(*needed, *(name for name in _OPTIONAL if folder.has(name))),
        identity_label=SENTENCE_BERT,
    )


def _read_modules(folder: PackageFolder) -> bool:
    """True when vectors are normalized: the stack is Transformer, Pooling and maybe Normalize."""
    types = embedder.module_types(folder)
    if types not in ([*_STACK], [*_STACK, _NORMALIZE]):
        raise PackageError(
            f"{embedder.MODULES}: the modules must be {', '.join(_STACK)} and maybe {_NORMALIZE}; "
            f"found {', '.join(types)}. Packages with other modules are not served"
        )
    return _NORMALIZE in types


def _read_limit(folder: PackageFolder, positions: int) -> int:
    """Most tokens of a text: what the package was made for, never more than there are positions."""
    if not folder.has(LIMITS):
        return positions
    members = Members(LIMITS, folder.json_object(LIMITS))
    members.choice("do_lower_case", (False,), default=False)
    if members.values.get("max_seq_length") is None:
        return positions
    return min(positions, members.integer("max_seq_length", 1))
