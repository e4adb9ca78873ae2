"""What went wrong on the device, told apart by what the server must do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import jax

from vela_jax.contract import DeviceFault, OutOfMemory

_MEMORY_MARKS: Final = ("RESOURCE_EXHAUSTED", "out of memory", "Out of memory")
_FAULT_MARKS: Final = (
    *("CUDA_ERROR", "CUDA error", "HIP error", "device-side assert", "illegal memory access"),
    *("INTERNAL: Failed to", "DATA_LOSS"),
)


@contextmanager
def translated() -> Iterator[None]:
    """Raise OutOfMemory or DeviceFault for what the device reports; everything else passes as it is."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(str(error) or "the host is out of memory") from error
    except jax.errors.JaxRuntimeError as error:
        text = str(error)
        if any(mark in text for mark in _MEMORY_MARKS):
            raise OutOfMemory(text.splitlines()[0]) from error
        if any(mark in text for mark in _FAULT_MARKS):
            raise DeviceFault(text.splitlines()[0]) from error
        raise
