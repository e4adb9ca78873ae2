"""The engine of one model: rows in, readouts out, through buckets that were proved on this host."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import Batch, Row
from vela_jax.forward.batches import bucket_of, plan_batches
from vela_jax.forward.buckets import ROOMS, Ladder, Sizes, count_ladder, length_ladder
from vela_jax.forward.builder import Builder, Quiet
from vela_jax.forward.classes import BitClass, Bucket, Classifier
from vela_jax.forward.engine_args import EngineArgs
from vela_jax.forward.executables import Executables, PrefixShape, Shape
from vela_jax.forward.faults import translated
from vela_jax.forward.network import Network, Outputs
from vela_jax.forward.prefixes import Prefixes, prefix_shape
from vela_jax.forward.probe import Prober
from vela_jax.forward.records import ClassRecords

Progress = Callable[[int, int], None]
Place = Bucket | PrefixShape
"""What is opened before it serves: shapes of rows, and shapes of the prefixes that they continue."""


class BucketEngine:
    """Runs rows in buckets.

    A bucket is opened before it serves one row a forward; further row counts follow in the background and, under
    `exact`, serve once the probe proved them. `batches` and `run` belong to one thread at a time; the others may be
    called from any.
    """

    def __init__(
        self,
        network: Network,
        args: EngineArgs,
        device: jax.Device,
        records: ClassRecords | None = None,
        quiet: Quiet | None = None,
    ) -> None:
        self._args = args
        self._depth = network.depths[-1]
        lengths = length_ladder(network.max_length, args.length_buckets)
        self._sizes = Sizes(lengths, length_ladder(network.max_length, ROOMS))
        self._continues = network.read_prefix is not None
        self._batch_tokens = args.batch_tokens(device.platform)
        self._executables = Executables(network, device)
        self._prefixes = Prefixes(self._executables, self._sizes)
        self._records = records
        self._classes: dict[Bucket, BitClass] = {}  # of open buckets
        self._opening: dict[Place, Future[None]] = {}
        self._lock = threading.Lock()
        self._quiet = quiet or Quiet()
        self._builder = Builder("buckets", self._quiet)
        self._classifier = Classifier(self._executables, Prober(network, self._executables, self._builder.pause))

    @property
    def compiles(self) -> int:
        """Executables compiled or loaded so far."""
        return self._executables.compiles

    def prepare(self, rows: Sequence[Row]) -> list[Future[None]]:
        """Open the buckets of rows that are not open yet; empty when all are. Wait for each before `batches`."""
        buckets: set[Place] = {bucket_of(row, self._sizes) for row in rows}
        prefixes: set[Place] = {self._prefixes.shape_of(row.prefix) for row in rows if row.prefix is not None}
        return [self._request(place) for place in buckets | prefixes if not self._is_open(place)]

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """Place every row in exactly one batch. KeyError for a row whose bucket is not open."""
        return plan_batches(rows, self._sizes, self._usable, self._prefixes.kept)

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        """Run one batch; outputs are aligned with `batch.indices`, per-token ones cut to the row's length.

        Raises OutOfMemory or DeviceFault where the device says so.
        """
        prefix = rows[batch.indices[0]].prefix
        room = self._sizes.room(prefix.length) if prefix is not None else 0
        shape = Shape(batch.count, batch.length, batch.depth, room)
        ids, lengths, *marks = inputs = self._executables.empty_inputs(shape)
        for index, slot in zip(batch.indices, batch.slots, strict=True):
            row = rows[index]
            ids[slot, : row.length] = row.ids
            lengths[slot] = row.length
            if marks and row.marks is not None:
                marks[0][slot, :, : row.length] = row.marks
        with self._quiet.running(), translated():
            if prefix is None:
                results = _gather(rows, batch, self._executables.run(shape, *inputs))
            else:
                state = self._prefixes.take(prefix)
                results = _gather(rows, batch, self._executables.run(shape, state, *inputs))
                self._prefixes.keep(prefix, state)
        return results

    def warm(self, progress: Progress) -> None:
        """Open the warm-up buckets; `progress(done, total)` after each."""
        hot = self._places(self._args.warmup)
        for done, place in enumerate(hot, 1):
            self._open(place)
            progress(done, len(hot))

    def fill(self) -> None:
        """Leave the further row counts and lengths to the background."""
        for place in self._places([*self._args.warmup, *self._args.background]):
            self._builder.add(partial(self._open_and_fill, place), urgent=False)

    def close(self, timeout: float | None = 0.0) -> None:
        """Open no further bucket; wait so long for one that is being opened."""
        self._builder.close(timeout)

    def report(self) -> list[dict[str, Any]]:
        """A line a bucket for the card: length, depth, row counts in use, counts refused by the probe, verdict."""
        return [
            {
                "length": bucket.length,
                "depth": bucket.depth,
                **({"prefix": bucket.room} if bucket.room else {}),
                "rows": list(self._usable(bucket).sizes),
                "rejected": list(found.rejected),
                "verdict": found.verdict if self._args.batching == "exact" else "unproved",
            }
            for bucket, found in sorted(self._classes.copy().items())
        ]

    def _places(self, lengths: Sequence[int]) -> list[Place]:
        """What rows, and prefixes, of some lengths need open."""
        ladder = self._sizes.lengths
        fitting = sorted({ladder.fit(length) for length in lengths if length <= ladder.largest})
        if not self._continues:
            return [Bucket(length, self._depth) for length in fitting]
        rooms = sorted({self._sizes.room(length) for length in fitting})
        prefixes = [prefix_shape(length, self._sizes) for length in fitting]
        return [*prefixes, *(Bucket(length, self._depth, room) for room in rooms for length in fitting)]

    def _counts(self, bucket: Bucket) -> Ladder:
        return count_ladder(bucket.length, self._batch_tokens, self._args.row_buckets)

    def _usable(self, bucket: Bucket) -> Ladder:
        """Row counts of an open bucket that are compiled and keep a row's bits."""
        return Ladder(tuple(n for n in self._classes[bucket].members if bucket.shape(n) in self._executables))

    def _is_open(self, place: Place) -> bool:
        return place in self._executables if isinstance(place, PrefixShape) else place in self._classes

    def _request(self, place: Place) -> Future[None]:
        with self._lock:
            if place not in self._opening or self._opening[place].done():
                self._opening[place] = self._builder.add(partial(self._open, place), urgent=True)
                self._builder.add(partial(self._open_and_fill, place), urgent=False)
            return self._opening[place]

    def _open(self, place: Place) -> None:
        """Make a place ready for one prefix, or one row a forward, which needs no proof; what was proved before holds.

        Raises OutOfMemory or DeviceFault where the device says so.
        """
        if self._is_open(place):
            return
        with translated():
            self._executables.ensure(place if isinstance(place, PrefixShape) else place.shape(1))
        if not isinstance(place, PrefixShape):
            self._classes[place] = self._recorded(place)

    def _recorded(self, bucket: Bucket) -> BitClass:
        found = self._records.known.get(bucket) if self._records else None
        return found if found and set(found.members) <= set(self._counts(bucket).sizes) else BitClass()

    def _open_and_fill(self, place: Place) -> None:
        """Open a place, then queue each further row count of a bucket as work of its own."""
        self._open(place)
        if isinstance(place, PrefixShape):
            return
        for count in self._counts(place).sizes:
            if place.shape(count) not in self._executables and count not in self._classes[place].rejected:
                self._builder.add(partial(self._fill, place, count), urgent=False)

    def _fill(self, bucket: Bucket, count: int) -> None:
        """Compile one more row count; under `exact` it joins when the probe finds equal bits."""
        known = self._classes[bucket]
        if count in known.members:
            self._executables.ensure(bucket.shape(count))
        elif self._args.batching == "throughput":
            self._executables.ensure(bucket.shape(count))
            self._classes[bucket] = known.joined(count, agrees=True)
        else:
            found = self._classifier.try_count(bucket, known, count)
            self._keep(bucket, found)
            self._classes[bucket] = found

    def _keep(self, bucket: Bucket, found: BitClass) -> None:
        if self._records is not None:
            self._records.keep(bucket, found)


def _gather(rows: Sequence[Row], batch: Batch, outputs: Outputs) -> list[NDArray[np.float32]]:
    """Each row's own readout; waits for the device."""
    names = {rows[index].readout.name for index in batch.indices}
    arrays: Mapping[str, NDArray[np.float32]] = {name: np.asarray(outputs[name]) for name in names}
    results = []
    for index, slot in zip(batch.indices, batch.slots, strict=True):
        row = rows[index]
        values = arrays[row.readout.name][slot]
        results.append(values[: row.length] if row.readout.per_token else values)
    return results
