"""The identity of a package: one digest over the digests of its files (Vela 1.0 format, section 2)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

TASK_HEADS: Final = "task-heads/1"
SENTENCE_BERT: Final = "sentence-transformers-bert/1"


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces and no NaN (runtime rules, section 10)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def weights_sha256(files: Mapping[str, str]) -> str:
    """The identity of a package that is known by its weight files alone (Vela 2.0 format, section 2)."""
    return hashlib.sha256(canonical_json(dict(files))).hexdigest()


def model_sha256(files: Mapping[str, str], label: str = TASK_HEADS) -> str:
    """The identity of a package whose files have these digests; `label` names the package format."""
    return hashlib.sha256(canonical_json({"format": label, "files": dict(files)})).hexdigest()
