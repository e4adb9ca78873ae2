"""The tensors of a trained network by their names on disk: a key map read backwards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from checkpoints.keymaps import KeyMap, Transform

DTYPES: Final = {"BF16": np.dtype(ml_dtypes.bfloat16), "F16": np.dtype(np.float16), "F32": np.dtype(np.float32)}
_NUMBER: Final = re.compile(r"\\\{(\w+)\\\}")


def begin(directory: Path, dtype: str) -> None:
    """Make the folder of a package. Raises ValueError when it holds anything, or for an unknown dtype."""
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}: choose one of {', '.join(DTYPES)}")
    if directory.exists() and any(directory.iterdir()):
        raise ValueError(f"{directory} is not empty: choose another one")
    directory.mkdir(parents=True, exist_ok=True)


def stored(network: nnx.Module, key_map: KeyMap, dtype: str = "F32") -> dict[str, NDArray[Any]]:
    """The tensors of a network that a key map names; leaves that it does not know are left out."""
    found = {}
    for path, leaf in nnx.to_flat_state(nnx.state(network, nnx.Param)):
        named = _key(key_map, path)
        if named is not None:
            key, transform = named
            values = np.asarray(leaf[...], np.float32)
            found[key] = (values[None] if transform is Transform.ONLY_ROW else values).astype(DTYPES[dtype])
    return found


def _key(key_map: KeyMap, path: tuple[Any, ...]) -> tuple[str, Transform] | None:
    """The name of the tensor that fills a leaf."""
    for rule in key_map.rules:
        numbers = _numbers(rule.path, path)
        if numbers is not None:
            return rule.key.format(**numbers), rule.transform
    return None


def _numbers(pattern: tuple[str, ...], path: tuple[Any, ...]) -> dict[str, str] | None:
    """The numbers that a pattern's names in braces stand for in a path that it fits."""
    if len(pattern) != len(path):
        return None
    found: dict[str, str] = {}
    for part, each in zip(pattern, path, strict=True):
        match = re.fullmatch(_NUMBER.sub(r"(?P<\1>[0-9]+)", re.escape(part)), str(each))
        if match is None:
            return None
        found |= match.groupdict()
    return found
