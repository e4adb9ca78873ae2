"""The engine of one model: compiled executables by bucket, run on rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import Batch, Row
from vela_jax.forward.batches import plan_batches
from vela_jax.forward.buckets import Ladder, count_ladder, length_ladder
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.layers.compiler import compiler_options

Outputs = Mapping[str, jax.Array]
Shape = tuple[int, int, int]  # (rows, length, depth)


@dataclass(frozen=True, slots=True)
class Network:
    """A pure function and its param tree.

    `apply(params, ids, lengths, depth)` takes ids int32 [B S] padded with 0 and lengths int32 [B] (0 for an empty
    row), runs `depth` layers and gives the readouts found there by name, each [B ...] in float32.
    """

    apply: Callable[[Any, jax.Array, jax.Array, int], Outputs]
    params: Any
    max_length: int
    depths: tuple[int, ...]  # exits that requests can ask for; the last is the usual one

    @property
    def memory_bytes(self) -> int:
        """Bytes of the param tree."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.params))


class BucketEngine:
    """Runs rows in buckets, each compiled once with the param tree as an argument.

    Not thread-safe: one thread owns it at a time.
    """

    def __init__(self, network: Network, args: EngineArgs, device: jax.Device) -> None:
        self._device = device
        self._params = jax.device_put(network.params, device)
        self._apply = network.apply
        self._depths = network.depths
        self._lengths = length_ladder(network.max_length, args.length_buckets)
        self._args = args
        self._compiled: dict[Shape, jax.stages.Compiled] = {}

    @property
    def compiled_shapes(self) -> frozenset[Shape]:
        """(rows, length, depth) of every executable so far."""
        return frozenset(self._compiled)

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """Place every row in exactly one batch."""
        return plan_batches(rows, self._lengths, self._counts)

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        """Run one batch; outputs are aligned with `batch.indices`, per-token ones cut to the row's length."""
        ids = np.zeros((batch.count, batch.length), np.int32)
        lengths = np.zeros(batch.count, np.int32)
        for index, slot in zip(batch.indices, batch.slots, strict=True):
            row = rows[index]
            ids[slot, : row.length] = row.ids
            lengths[slot] = row.length
        executable = self._executable(batch.count, batch.length, batch.depth)
        outputs = executable(self._params, *jax.device_put((ids, lengths), self._device))
        return self._gather(rows, batch, outputs)

    def warm(self, progress: Callable[[int, int], None]) -> None:
        """Compile and run the warm-up buckets once; `progress(done, total)` after each."""
        shapes = sorted(self._warm_shapes())
        for done, (count, length, depth) in enumerate(shapes, 1):
            executable = self._executable(count, length, depth)
            ids = jnp.zeros((count, length), jnp.int32, device=self._device)
            lengths = jnp.full(count, length, jnp.int32, device=self._device)
            jax.block_until_ready(executable(self._params, ids, lengths))
            progress(done, len(shapes))

    def _warm_shapes(self) -> Iterable[Shape]:
        buckets = {self._lengths.fit(length) for length in self._args.warmup if length <= self._lengths.largest}
        return {(1, length, self._depths[-1]) for length in buckets}

    def _counts(self, length: int) -> Ladder:
        """Row counts that may serve a length bucket; without a proof of equal bits only one row is exact."""
        if self._args.batching == "exact":
            return Ladder((1,))
        return count_ladder(length, self._args.max_batch_tokens, self._args.row_buckets)

    def _executable(self, count: int, length: int, depth: int) -> jax.stages.Compiled:
        shape = (count, length, depth)
        if shape not in self._compiled:
            self._compiled[shape] = self._compile(*shape)
        return self._compiled[shape]

    def _compile(self, count: int, length: int, depth: int) -> jax.stages.Compiled:
        sharding = jax.sharding.SingleDeviceSharding(self._device)
        spec = partial(jax.ShapeDtypeStruct, dtype=jnp.int32, sharding=sharding)
        apply = jax.jit(partial(_at_depth, self._apply, depth))
        lowered = apply.lower(self._params, spec((count, length)), spec((count,)))
        return lowered.compile(compiler_options(self._device.platform))

    def _gather(self, rows: Sequence[Row], batch: Batch, outputs: Outputs) -> list[NDArray[np.float32]]:
        names = {rows[index].readout.name for index in batch.indices}
        arrays = {name: np.asarray(outputs[name]) for name in names}
        results = []
        for index, slot in zip(batch.indices, batch.slots, strict=True):
            row = rows[index]
            values = arrays[row.readout.name][slot]
            results.append(values[: row.length] if row.readout.per_token else values)
        return results


def _at_depth(apply: Callable[..., Outputs], depth: int, params: Any, ids: jax.Array, lengths: jax.Array) -> Outputs:
    """The network with its depth fixed, in the argument order of an executable."""
    return apply(params, ids, lengths, depth)
