"""Compiled executables by shape: each compiled once, ahead of time, with the param tree as an argument."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from jax.typing import DTypeLike
from numpy.typing import NDArray

from vela_jax.forward.compilation_cache import seal_compiled
from vela_jax.forward.network import Network, Outputs, State
from vela_jax.layers.compiler import compiler_options

Ids = NDArray[np.int32]


class Shape(NamedTuple):
    """Rows, padded length and depth of an executable, and the room for the prefix that the rows continue."""

    rows: int
    length: int
    depth: int
    room: int = 0


class PrefixShape(NamedTuple):
    """Padded length of a prefix, and the room that its state is padded to."""

    length: int
    room: int


class Executables:
    """The executables of one network on its device or, where its parameters are split, on all devices of their mesh.

    Safe for threads; a shape is compiled by one of them only.
    """

    def __init__(self, network: Network, device: jax.Device) -> None:
        self._device = device
        self._apply = network.apply
        self._marks = len(network.marks)
        self._whole = whole_sharding(network.params, device)
        self._is_split = isinstance(self._whole, NamedSharding)
        self._params = network.params if self._is_split else jax.device_put(network.params, device)
        self._read_prefix = network.read_prefix
        self._states: dict[int, State] = {}  # abstract, by room
        self._compiled: dict[Shape | PrefixShape, jax.stages.Compiled] = {}
        self._compiling = threading.Lock()
        self.compiles = 0  # so far, loads from the cache on disk included

    def __contains__(self, shape: Shape | PrefixShape) -> bool:
        return shape in self._compiled

    @property
    def shapes(self) -> frozenset[Shape | PrefixShape]:
        """Every shape that has an executable."""
        return frozenset(self._compiled)

    def ensure(self, shape: Shape | PrefixShape) -> None:
        """Compile a shape unless it was compiled before; takes seconds."""
        with self._compiling:
            if shape not in self._compiled:
                self._compiled[shape] = self._compile(shape)

    def run(self, shape: Shape, *inputs: Any) -> Outputs:
        """Run a compiled shape on `empty_inputs` that were filled in. KeyError when it is not compiled.

        The state of the prefix comes before them where the shape has room for one.
        """
        outputs: Outputs = self._call(self._compiled[shape], *inputs)
        return outputs

    def read_prefix(self, shape: PrefixShape, ids: Ids) -> State:
        """The state of a prefix, on the device. KeyError when the shape is not compiled."""
        padded = np.zeros((1, shape.length), np.int32)
        padded[0, : len(ids)] = ids
        return self._call(self._compiled[shape], padded, np.array([len(ids)], np.int32))

    def state(self, room: int) -> State:
        """Shapes and types of what a prefix hands over."""
        if room not in self._states:
            reading, inputs = self._reading(PrefixShape(room, room))
            found = jax.eval_shape(reading, self._params, *inputs)
            self._states[room] = jax.tree.map(lambda leaf: self._spec(leaf.shape, leaf.dtype), found)
        return self._states[room]

    def placed(self, values: State) -> State:
        """Arrays where the executables take them."""
        return jax.device_put(values, self._whole)

    def empty_inputs(self, shape: Shape) -> tuple[Ids, ...]:
        """Ids [B S] and lengths [B] of rows without tokens, then marks [B K S] where the network takes them."""
        inputs = np.zeros((shape.rows, shape.length), np.int32), np.zeros(shape.rows, np.int32)
        if not self._marks:
            return inputs
        return *inputs, np.zeros((shape.rows, self._marks, shape.length), np.int32)

    def second_instance(self, shape: Shape) -> Callable[..., Outputs]:
        """A further executable of a shape, loaded from the cache on disk where there is one."""
        with self._compiling:
            compiled = self._compile(shape)
        return partial(self._call, compiled)

    def _call(self, compiled: jax.stages.Compiled, *inputs: Any) -> Any:
        return compiled(self._params, *jax.device_put(inputs, self._whole))

    def _compile(self, shape: Shape | PrefixShape) -> jax.stages.Compiled:
        self.compiles += 1
        function, inputs = self._reading(shape) if isinstance(shape, PrefixShape) else self._forward(shape)
        jitted = jax.jit(function, out_shardings=self._whole if self._is_split else None)
        compiled = jitted.lower(self._params, *inputs).compile(compiler_options(self._device.platform))
        seal_compiled()
        return compiled

    def _forward(self, shape: Shape) -> tuple[Callable[..., Outputs], Sequence[Any]]:
        """The function of a shape of rows, and what it takes behind the parameters."""
        before = [self.state(shape.room)] if shape.room else []
        specs = self._specs(*(each.shape for each in self.empty_inputs(shape)))
        return partial(_at_depth, self._apply, shape.depth), [*before, *specs]

    def _reading(self, shape: PrefixShape) -> tuple[Callable[..., State], Sequence[Any]]:
        assert self._read_prefix is not None
        return partial(_with_room, self._read_prefix, shape.room), self._specs((1, shape.length), (1,))

    def _specs(self, *shapes: tuple[int, ...]) -> list[jax.ShapeDtypeStruct]:
        return [self._spec(shape, jnp.int32) for shape in shapes]

    def _spec(self, shape: tuple[int, ...], dtype: DTypeLike) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self._whole)


def whole_sharding(params: Any, device: jax.Device) -> Sharding:
    """The sharding of what every device holds whole, inputs and readouts: `device`, else the mesh of `params`."""
    placed = [leaf.sharding for leaf in jax.tree.leaves(params) if isinstance(leaf, jax.Array)]
    meshes = [each.mesh for each in placed if isinstance(each, NamedSharding)]
    return NamedSharding(meshes[0], PartitionSpec()) if meshes else SingleDeviceSharding(device)


def _at_depth(apply: Callable[..., Outputs], depth: int, params: Any, *inputs: jax.Array) -> Outputs:
    """The network with its depth fixed, in the argument order of an executable."""
    return apply(params, *inputs, depth)


def _with_room(read_prefix: Callable[..., State], room: int, params: Any, *inputs: jax.Array) -> State:
    """The reading of a prefix with its room fixed."""
    return read_prefix(params, *inputs, room)
