"""A training run on disk: everything that the next step depends on, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run is: optimizer steps done, the chunk it reads and the batches of it that it has read."""

    step: int = 0
    chunk: int = 0
    batch: int = 0


def save(path: Path, tree: Any, place: Place) -> None:
    """Write the leaves of a tree and the place."""
    leaves: dict[str, Any] = {f"leaf{index:05}": np.asarray(leaf) for index, leaf in enumerate(jax.tree.leaves(tree))}
    members = {"format": _FORMAT, "step": place.step, "chunk": place.chunk, "batch": place.batch}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, allow_pickle=False, place=np.frombuffer(json.dumps(members).encode(), np.uint8), **leaves)
    part.replace(path)


def restore(path: Path, tree: Any) -> tuple[Any, Place]:
    """A tree of the same structure with the saved leaves. Raises ValueError when they do not fit."""
    leaves, structure = jax.tree.flatten(tree)
    with np.load(path, allow_pickle=False) as file:
        members = json.loads(file["place"].tobytes())
        found = [file[name] for name in sorted(file.files) if name != "place"]
    if members.pop("format") != _FORMAT or [each.shape for each in found] != [np.shape(leaf) for leaf in leaves]:
        raise ValueError(f"{path} was saved by a run of another student: remove it, or choose another folder")
    return jax.tree.unflatten(structure, [jax.numpy.asarray(each) for each in found]), Place(**members)
