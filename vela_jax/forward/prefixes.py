"""Prefixes that rows continue: each is read once, and the last one is kept for the forwards that follow."""

from __future__ import annotations

from vela_jax.contract import Prefix
from vela_jax.forward.buckets import Sizes
from vela_jax.forward.executables import Executables, PrefixShape
from vela_jax.forward.network import State


class Prefixes:
    """Reads prefixes for one thread. One state is held at most, whatever the number of rows that continue it."""

    def __init__(self, executables: Executables, sizes: Sizes) -> None:
        self._executables = executables
        self._sizes = sizes
        self._kept: tuple[bytes, State] | None = None

    @property
    def kept(self) -> bytes | None:
        """The key of the prefix that need not be read."""
        return self._kept[0] if self._kept is not None else None

    def shape_of(self, prefix: Prefix) -> PrefixShape:
        """The shape that a prefix is read in: it follows from its length alone."""
        return prefix_shape(prefix.length, self._sizes)

    def take(self, prefix: Prefix) -> State:
        """The state of a prefix. It is not kept any more: a forward that fails may leave it unusable."""
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == prefix.key:
            return kept[1]
        del kept  # before the next one needs memory
        return self._executables.read_prefix(self.shape_of(prefix), prefix.ids)

    def keep(self, prefix: Prefix, state: State) -> None:
        """Keep the state of a prefix until another is taken."""
        self._kept = prefix.key, state


def prefix_shape(length: int, sizes: Sizes) -> PrefixShape:
    """The shape that a prefix of so many tokens is read in."""
    return PrefixShape(sizes.lengths.fit(length), sizes.room(length))
