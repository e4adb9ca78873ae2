"""Param trees filled from checkpoint files: the whole plan is checked first, and all faults are reported at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import jax
import numpy as np
from flax import nnx

from checkpoints.files import PackageError
from checkpoints.placing import Place, placed
from checkpoints.progress import ByteCounter, Progress, Stage, silent
from checkpoints.weights import FLOAT_DTYPES, TensorFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checkpoints.keymaps import KeyMap, Path, Transform
    from checkpoints.weights import TensorInfo

ParamTree = nnx.State[Any, Any]
READ_THREADS: Final = 8
_FAULTS_SHOWN: Final = 12
_PREFIXES: Final = ("model.", "bert.")  # under which released checkpoints keep a backbone


@dataclass(frozen=True, slots=True)
class Source:
    """A checkpoint file and the table that knows its keys."""

    file: TensorFile
    key_map: KeyMap
    prefix: str | None = None  # that the keys of the backbone must have; None: the same for all, whichever it is
    partial: bool = False  # keys without a leaf belong to parts that are not served
    strict: tuple[str, ...] = ()  # beginnings of keys that need a leaf all the same
    counted: bool = True  # its values are parameters of the model


@dataclass(frozen=True, slots=True)
class Fill:
    """One tensor on its way into one leaf."""

    file: TensorFile
    key: str
    transform: Transform

    @property
    def info(self) -> TensorInfo:
        """The tensor as its file describes it."""
        return self.file.tensors[self.key]


@dataclass(slots=True)
class _Plan:
    """Fills by leaf, the faults found, and the values of ignored tensors."""

    leaves: Mapping[Path, tuple[int, ...]]  # shape by path
    fills: dict[Path, Fill] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, source: Source) -> None:
        keys = [key for key in source.file.tensors if not source.key_map.is_ignored(key)]
        prefix = source.prefix
        if prefix is None:
            prefix = max(map(_prefix, keys), default="")
        for key in keys:
            self._add_key(source, key, prefix)

    def _add_key(self, source: Source, key: str, prefix: str) -> None:
        match = source.key_map.match(key)
        where = f"{source.file.name}: {key}"
        if match is None or match.path not in self.leaves:
            if not source.partial or key.startswith(source.strict):
                self.faults.append(f"{where} is no tensor of this network")
            return
        if match.path[0] == "backbone" and _prefix(key) != prefix:
            wanted = f"the prefix {prefix!r}" if prefix else "no prefix"
            self.faults.append(f"{where} must have {wanted}")
            return
        if match.path in self.fills:
            self.faults.append(f"{where} and {self.fills[match.path].key} are one parameter")
            return
        fill = Fill(source.file, key, match.transform)
        shape = match.transform.stored_shape(self.leaves[match.path])
        if fill.info.shape != shape:
            self.faults.append(f"{where} has the shape {list(fill.info.shape)}, the config asks for {list(shape)}")
        if fill.info.dtype not in FLOAT_DTYPES:
            self.faults.append(f"{where} has the dtype {fill.info.dtype}; allowed are {', '.join(FLOAT_DTYPES)}")
        self.fills[match.path] = fill

    def close(self) -> None:
        """Raise when anything is wrong or missing."""
        missing = [path for path in self.leaves if path not in self.fills]
        faults = [*self.faults, *(f"no tensor for {'.'.join(map(str, path))}" for path in missing)]
        if faults:
            shown = "; ".join(faults[:_FAULTS_SHOWN])
            more = f"; and {len(faults) - _FAULTS_SHOWN} more" if len(faults) > _FAULTS_SHOWN else ""
            raise PackageError(
                f"the weights do not fit config.json ({len(faults)} faults): {shown}{more}. "
                "Fetch the package again, or correct its config.json"
            )


def plan_fills(abstract: ParamTree, sources: Sequence[Source]) -> dict[Path, Fill]:
    """Which tensor fills which leaf of an abstract param tree.

    Every key is used or ignored, every leaf is filled once, shapes fit and dtypes are floats; otherwise PackageError
    with all faults.
    """
    plan = _Plan({path: tuple(leaf.shape) for path, leaf in _leaves(abstract)})
    for source in sources:
        plan.add(source)
    plan.close()
    return plan.fills


def read_params(
    abstract: ParamTree, fills: Mapping[Path, Fill], place: Place = None, progress: Progress = silent
) -> ParamTree:
    """The param tree with arrays at `place`, of the dtypes that the abstract tree has.

    Tensors are read on several threads, one a thread: beside the arrays, memory holds no more than those.
    """
    leaves = _leaves(abstract)
    dtypes = {path: np.dtype(leaf.dtype) for path, leaf in leaves}
    counter = ByteCounter(Stage.READ, sum(fill.info.end - fill.info.start for fill in fills.values()), progress)

    def read(path: Path, fill: Fill) -> jax.Array:
        values = fill.transform.apply(fill.file.read(fill.key, dtypes[path]))
        array: jax.Array = jax.device_put(values, placed(place, path, values.shape))
        array.block_until_ready()  # a device's copy: before the next tensor this one is let go of
        counter.add(fill.info.end - fill.info.start)
        return array

    with ThreadPoolExecutor(min(READ_THREADS, os.cpu_count() or 1), thread_name_prefix="read") as pool:
        arrays = dict(zip(fills, pool.map(read, fills, fills.values()), strict=True))
    return nnx.from_flat_state([(path, leaf.replace(arrays[path])) for path, leaf in leaves])


def count_elements(fills: Mapping[Path, Fill], file: TensorFile) -> int:
    """Values that `file` gives to the network."""
    return sum(fill.info.elements for fill in fills.values() if fill.file is file)


def _leaves(tree: ParamTree) -> list[tuple[Path, Any]]:
    """The variables of a tree with their paths."""
    return [(cast("Path", path), leaf) for path, leaf in nnx.to_flat_state(tree)]


def _prefix(key: str) -> str:
    """The prefix that `key` has, empty for none."""
    return next((prefix for prefix in _PREFIXES if key.startswith(prefix)), "")
