"""Safetensors files: headers checked before anything is read, tensors read as arrays of their own."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeGuard

import ml_dtypes
import numpy as np

from checkpoints.files import PackageError, PackageFolder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MIN_HEADER_BYTES: Final = 2
MAX_HEADER_BYTES: Final = 256 << 20
_ALIGNMENT: Final = 64  # bytes; arrays that start on it become device arrays on a CPU without a copy
_LENGTH_BYTES: Final = 8
_PIECE_ELEMENTS: Final = 1 << 18  # of tensors that are converted: 1 MiB of FP32

FLOAT_DTYPES: Final[Mapping[str, np.dtype[Any]]] = MappingProxyType(
    {
        "F64": np.dtype(np.float64),
        "F32": np.dtype(np.float32),
        "F16": np.dtype(np.float16),
        "BF16": np.dtype(ml_dtypes.bfloat16),
        "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
        "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    }
)
FP32: Final = FLOAT_DTYPES["F32"]
_OTHER_WIDTHS: Final = {"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "U32": 4, "I32": 4, "U64": 8, "I64": 8}
_WIDTHS: Final = MappingProxyType(_OTHER_WIDTHS | {name: dtype.itemsize for name, dtype in FLOAT_DTYPES.items()})


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor as the header describes it; `start` and `end` are byte offsets in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def elements(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A safetensors file whose header was found sound and whose data is complete."""

    name: str
    path: Path
    tensors: Mapping[str, TensorInfo]

    @classmethod
    def open(cls, folder: PackageFolder, name: str) -> TensorFile:
        """Check the header of the file `name`. Raises PackageError naming the file and the fault."""
        path = folder.path(name)
        with path.open("rb") as file:
            header, data_start = _read_header(file, name)
        tensors = {key: _read_info(key, value, data_start, name) for key, value in header.items()}
        _check_layout(tensors, data_start, path.stat().st_size, name)
        return cls(name, path, MappingProxyType(tensors))

    @property
    def elements(self) -> int:
        """Values of all tensors, counted from the header."""
        return sum(info.elements for info in self.tensors.values())

    def read(self, key: str, dtype: np.dtype[Any] = FP32) -> NDArray[Any]:
        """The tensor `key` as `dtype`, in memory of its own. May be called from several threads."""
        info = self.tensors[key]
        values = _aligned(info.elements * dtype.itemsize)
        with self.path.open("rb", buffering=0) as file:
            if FLOAT_DTYPES.get(info.dtype) == dtype:
                self._fill(file, values, info.start, key)
            else:
                self._convert(file, values.view(dtype), info, key)
        return values.view(dtype).reshape(info.shape)

    def _convert(self, file: BinaryIO, values: NDArray[Any], info: TensorInfo, key: str) -> None:
        """Read and convert piece by piece, so that a piece is still in the cache when it is converted."""
        width = _WIDTHS[info.dtype]
        piece = np.empty(min(_PIECE_ELEMENTS, max(1, info.elements)) * width, np.uint8)
        for first in range(0, info.elements, _PIECE_ELEMENTS):
            target = values[first : first + _PIECE_ELEMENTS]
            raw = piece[: target.size * width]
            self._fill(file, raw, info.start + first * width, key)
            _cast(raw, info.dtype, target)

    def _fill(self, file: BinaryIO, target: NDArray[np.uint8], start: int, key: str) -> None:
        left = memoryview(target.data)
        while left:
            count = os.preadv(file.fileno(), [left], start)
            if not count:
                raise PackageError(f"{self.name} ended while {key} was read: it changed while the model loads")
            left, start = left[count:], start + count


def _cast(raw: NDArray[np.uint8], dtype: str, target: NDArray[Any]) -> None:
    if dtype == "BF16" and target.dtype == FP32:  # the upper half of an FP32; a shift is faster than a cast
        bits = target.view(np.uint32)
        np.copyto(bits, raw.view(np.uint16))
        np.left_shift(bits, 16, out=bits)
    else:
        np.copyto(target, raw.view(FLOAT_DTYPES[dtype]), casting="unsafe")


def _read_header(file: BinaryIO, name: str) -> tuple[dict[str, Any], int]:
    length_bytes = file.read(_LENGTH_BYTES)
    if len(length_bytes) < _LENGTH_BYTES:
        raise _fault(name, "shorter than the 8 bytes of a header length")
    length = int.from_bytes(length_bytes, "little")
    if not MIN_HEADER_BYTES <= length <= MAX_HEADER_BYTES:
        raise _fault(name, f"its header length is {length}, allowed is {MIN_HEADER_BYTES} to {MAX_HEADER_BYTES}")
    text = file.read(length)
    if len(text) < length:
        raise _fault(name, f"truncated inside its header of {length} bytes")
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _fault(name, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise _fault(name, "its header is not a JSON object")
    header.pop("__metadata__", None)
    return header, _LENGTH_BYTES + length


def _read_info(key: str, value: Any, data_start: int, name: str) -> TensorInfo:
    if not isinstance(value, dict):
        raise _fault(name, f"its header describes {key} without dtype, shape and data_offsets")
    dtype, shape, offsets = value.get("dtype"), value.get("shape"), value.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in _WIDTHS:
        raise _fault(name, f"{key} has the dtype {dtype!r}; known are {', '.join(_WIDTHS)}")
    if not _are_counts(shape):
        raise _fault(name, f"{key} has the shape {shape!r}; a list of counts is needed")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise _fault(name, f"{key} has the data_offsets {offsets!r}; a start and an end are needed")
    info = TensorInfo(dtype, tuple(shape), data_start + offsets[0], data_start + offsets[1])
    if info.end - info.start != info.elements * _WIDTHS[dtype]:
        raise _fault(name, f"{key} has {offsets[1] - offsets[0]} bytes of data, which {dtype} {shape} does not fill")
    return info


def _are_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(isinstance(item, int) and item is not True and item >= 0 for item in value)


def _check_layout(tensors: Mapping[str, TensorInfo], data_start: int, size: int, name: str) -> None:
    """Tensors follow each other without gap or overlap and end where the file ends."""
    position = data_start
    for key, info in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].end)):
        if info.start != position:
            raise _fault(name, f"{key} starts at byte {info.start} where {position} is due (gap or overlap)")
        position = info.end
    if size < position:
        raise _fault(name, f"truncated: it has {size} bytes, its header asks for {position}")
    if size > position:
        raise _fault(name, f"it has {size - position} bytes after its last tensor")


def _fault(name: str, fault: str) -> PackageError:
    return PackageError(f"{name} is not a sound safetensors file: {fault}. Fetch the file again")


def _aligned(size: int) -> NDArray[np.uint8]:
    """Uninitialised bytes that start on the alignment of device arrays."""
    buffer = np.empty(size + _ALIGNMENT, np.uint8)
    offset = -buffer.ctypes.data % _ALIGNMENT
    return buffer[offset : offset + size]
