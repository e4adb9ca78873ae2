"""Loads a package on one device and split over several, and prints what was found as one line of JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
from flax import nnx

from serving.assembly import FINAL_FAILURES, Assembler
from serving.config import ModelEntry, PackageSources
from serving.loaded import LoadedModel
from tests.serving.test_assembly import probabilities
from vela_jax.forward.compilation_cache import keep_compiled
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs

REFUSED = ({"mesh": {"tensor": 9}}, {"mesh": {"tensor": 3}})
PATIENCE = 300


def main(folder: Path, length: int, counts: list[int]) -> None:
    """Look at the package in a folder, where compiled code is kept too."""
    package = folder / "package"
    keep_compiled(folder / "compiled")
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    args = EngineArgs(length_buckets=(length,), row_buckets=(1, 2), warmup=(), background=())
    assembler = Assembler(PackageSources(), args)
    found: dict[str, Any] = {str(count): _look_at(assembler, package, count) for count in counts}
    found["refused"] = {json.dumps(refused): _refusal(assembler, package, refused) for refused in REFUSED}
    print(json.dumps(found))


def _load(assembler: Assembler, package: Path, args: dict[str, Any]) -> LoadedModel:
    return assembler.load(ModelEntry(model=str(package), device="cpu", engine_args=args), lambda *_: None)


def _look_at(assembler: Assembler, package: Path, count: int) -> dict[str, Any]:
    model = _load(assembler, package, {"mesh": {"tensor": count}} if count > 1 else {})
    answers = probabilities(model)
    end = time.monotonic() + PATIENCE
    while any(len(each["rows"]) + len(each["rejected"]) < 2 for each in model.buckets()) and time.monotonic() < end:
        time.sleep(0.1)
    assert isinstance(model.engine, BucketEngine)
    return {
        "answers": answers,
        "repeats": all(probabilities(model) == answers for _ in range(3)),
        "held": _held(model.engine._executables._params),
        "buckets": model.buckets(),
        "numerics": model.numerics,
        "dtype": model.description.dtype,
        "engine_args": dict(model.engine_args),
    }


def _held(params: Any) -> dict[str, list[int]]:
    """Values of each parameter: in all, then those on each device."""
    return {
        ".".join(map(str, path)): [leaf[...].size, *(shard.data.size for shard in leaf[...].addressable_shards)]
        for path, leaf in nnx.to_flat_state(params)
    }


def _refusal(assembler: Assembler, package: Path, args: dict[str, Any]) -> str:
    try:
        _load(assembler, package, args)
    except FINAL_FAILURES as error:
        return str(error)
    return "accepted"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [int(text) for text in sys.argv[3:]])
