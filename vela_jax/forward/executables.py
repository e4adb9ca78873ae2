"""Compiled executables by shape: each compiled once, ahead of time, with the param tree as an argument."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from vela_jax.forward.compilation_cache import seal_compiled
from vela_jax.forward.network import Network, Outputs
from vela_jax.layers.compiler import compiler_options

Ids = NDArray[np.int32]


class Shape(NamedTuple):
    """Rows, padded length and depth of an executable."""

    rows: int
    length: int
    depth: int


class Executables:
    """The executables of one network on one device. Safe for threads; a shape is compiled by one of them only."""

    def __init__(self, network: Network, device: jax.Device) -> None:
        self._device = device
        self._apply = network.apply
        self._marks = len(network.marks)
        self._params = jax.device_put(network.params, device)
        self._compiled: dict[Shape, jax.stages.Compiled] = {}
        self._compiling = threading.Lock()
        self.compiles = 0  # so far, loads from the cache on disk included

    def __contains__(self, shape: Shape) -> bool:
        return shape in self._compiled

    @property
    def shapes(self) -> frozenset[Shape]:
        """Every shape that has an executable."""
        return frozenset(self._compiled)

    def ensure(self, shape: Shape) -> None:
        """Compile a shape unless it was compiled before; takes seconds."""
        with self._compiling:
            if shape not in self._compiled:
                self._compiled[shape] = self._compile(shape)

    def run(self, shape: Shape, *inputs: Ids) -> Outputs:
        """Run a compiled shape on `empty_inputs` that were filled in. KeyError when it is not compiled."""
        return self._call(self._compiled[shape], *inputs)

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

    def _call(self, compiled: jax.stages.Compiled, *inputs: Ids) -> Outputs:
        outputs: Outputs = compiled(self._params, *jax.device_put(inputs, self._device))
        return outputs

    def _compile(self, shape: Shape) -> jax.stages.Compiled:
        self.compiles += 1
        sharding = jax.sharding.SingleDeviceSharding(self._device)
        spec = partial(jax.ShapeDtypeStruct, dtype=jnp.int32, sharding=sharding)
        function = jax.jit(partial(_at_depth, self._apply, shape.depth))
        lowered = function.lower(self._params, *(spec(each.shape) for each in self.empty_inputs(shape)))
        compiled = lowered.compile(compiler_options(self._device.platform))
        seal_compiled()
        return compiled


def _at_depth(apply: Callable[..., Outputs], depth: int, params: Any, *inputs: jax.Array) -> Outputs:
    """The network with its depth fixed, in the argument order of an executable."""
    return apply(params, *inputs, depth)
