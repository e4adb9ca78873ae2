"""Safetensors files: headers, layout, dtypes."""

import json
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from checkpoints.files import PackageError, PackageFolder
from checkpoints.weights import MAX_HEADER_BYTES, TensorFile

NAME = "model.safetensors"
TENSORS: dict[str, Any] = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array(2.5, dtype=np.float16),
    "c": np.zeros((0, 4), dtype=np.float32),
    "d": np.arange(3, dtype=np.int64),
}


def open_bytes(tmp_path: Path, content: bytes) -> TensorFile:
    (tmp_path / NAME).write_bytes(content)
    return TensorFile.open(PackageFolder(tmp_path), NAME)


def with_header(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one(**changes: Any) -> bytes:
    return with_header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}, b"\0" * 8)


def test_tensors_and_their_count(tmp_path: Path) -> None:
    file = open_bytes(tmp_path, save(TENSORS, metadata={"format": "pt"}))
    assert set(file.tensors) == set(TENSORS)
    assert file.elements == 6 + 1 + 0 + 3
    assert file.tensors["a"].shape == (2, 3)
    assert file.tensors["a"].dtype == "F32"
    np.testing.assert_array_equal(file.read("a"), TENSORS["a"])
    assert file.read("b") == np.float32(2.5)
    assert file.read("c").shape == (0, 4)


@pytest.mark.parametrize(
    "dtype",
    [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_every_float_is_read_as_fp32(tmp_path: Path, dtype: Any) -> None:
    values = np.linspace(-3, 3, 60, dtype=np.float32).reshape(5, 12).astype(dtype)
    values[0, :4] = np.array([0.0, -0.0, 1.0, 0.015625], np.float32).astype(dtype)
    read = open_bytes(tmp_path, save({"a": values, "b": values[0]})).read("a")
    assert read.dtype == np.float32
    assert read.tobytes() == values.astype(np.float32).tobytes()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16], ids=lambda dtype: np.dtype(dtype).name)
def test_large_tensors_are_upcast_piece_by_piece(tmp_path: Path, dtype: Any) -> None:
    values = np.random.default_rng(0).standard_normal(2 * (1 << 18) + 7, np.float32).astype(dtype)
    read = open_bytes(tmp_path, save({"a": np.zeros(3, np.float16), "b": values})).read("b")
    assert read.tobytes() == values.astype(np.float32).tobytes()


@pytest.mark.parametrize("stored", [np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda dtype: np.dtype(dtype).name)
def test_tensors_may_be_read_as_bf16(tmp_path: Path, stored: Any) -> None:
    values = np.random.default_rng(0).standard_normal((3, (1 << 18) + 5), np.float32).astype(stored)
    read = open_bytes(tmp_path, save({"a": values})).read("a", np.dtype(ml_dtypes.bfloat16))
    assert (read.dtype, read.shape) == (ml_dtypes.bfloat16, values.shape)
    assert read.tobytes() == values.astype(ml_dtypes.bfloat16).tobytes()


def test_special_values_of_bf16_survive(tmp_path: Path) -> None:
    bits = np.array([0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x8000, 0x3F80], np.uint16)
    read = open_bytes(tmp_path, save({"a": bits.view(ml_dtypes.bfloat16)})).read("a")
    np.testing.assert_array_equal(read.view(np.uint32), bits.astype(np.uint32) << 16)


def test_arrays_are_aligned_for_devices(tmp_path: Path) -> None:
    file = open_bytes(tmp_path, save({"x": np.zeros(1, np.float32), "y": np.zeros(5, np.float16)}))
    assert file.read("x").ctypes.data % 64 == 0
    assert file.read("y").ctypes.data % 64 == 0


@pytest.mark.parametrize("cut", [1, 2, 100, 1000])
def test_a_truncated_file_is_refused(tmp_path: Path, cut: int) -> None:
    whole = save({"a": np.zeros(500, np.float32)})
    with pytest.raises(PackageError, match=rf"{NAME} .*truncated: it has {len(whole) - cut} bytes"):
        open_bytes(tmp_path, whole[:-cut])


def test_every_prefix_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = save(TENSORS)
    for length in range(len(whole)):
        with pytest.raises(PackageError, match=NAME):
            open_bytes(tmp_path, whole[:length])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "shorter than the 8 bytes"),
        (b"\0" * 8, "its header length is 0"),
        (struct.pack("<Q", 1) + b"{", "its header length is 1"),
        (struct.pack("<Q", MAX_HEADER_BYTES + 1) + b"{}", "its header length is"),
        (struct.pack("<Q", 2**63) + b"{}", "its header length is"),
        (struct.pack("<Q", 3) + b"{}", "truncated inside its header"),
        (with_header(b"{]"), "its header is not JSON"),
        (with_header(b"\xff\xff"), "its header is not JSON"),
        (with_header(b"[" * 100_000), "its header is not JSON"),
        (with_header(b"[]"), "its header is not a JSON object"),
        (with_header({"a": 1}), "describes a without"),
        (one(dtype="F12"), "a has the dtype 'F12'"),
        (one(dtype=None), "a has the dtype None"),
        (one(dtype=["F32"]), "a has the dtype"),
        (one(shape=None), "a has the shape None"),
        (one(shape=[-1]), r"a has the shape \[-1\]"),
        (one(shape=[2.0]), r"a has the shape \[2\.0\]"),
        (one(shape=[True, 2]), "a has the shape"),
        (one(data_offsets=[0]), "a has the data_offsets"),
        (one(data_offsets=[0, 8, 9]), "a has the data_offsets"),
        (one(data_offsets=["0", "8"]), "a has the data_offsets"),
        (one(data_offsets=[8, 0]), "a has -8 bytes of data"),
        (one(shape=[3]), "a has 8 bytes of data"),
        (one(data_offsets=[4, 12]), "starts at byte"),
        (one() + b"x", "1 bytes after its last tensor"),
        (pytest.param(b"PK\x03\x04" + b"\0" * 60, "truncated|its header", id="zip")),
    ],
)
def test_unsound_headers_are_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    with pytest.raises(PackageError, match=fault) as caught:
        open_bytes(tmp_path, content)
    assert str(caught.value).startswith(f"{NAME} is not a sound safetensors file: ")
    assert str(caught.value).endswith("Fetch the file again")


def test_overlapping_tensors_are_refused(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    with pytest.raises(PackageError, match="gap or overlap"):
        open_bytes(tmp_path, with_header({"a": entry, "b": entry}, b"\0" * 16))


def test_a_file_that_shrinks_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    file = open_bytes(tmp_path, save(TENSORS))
    (tmp_path / NAME).write_bytes(b"")
    with pytest.raises(PackageError, match="ended while a was read"):
        file.read("a")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
ENTRY = st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets"]), JSON, max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=st.dictionaries(st.text(max_size=4), ENTRY | JSON, max_size=3), data=st.binary(max_size=16))
def test_any_header_is_accepted_or_refused(tmp_path: Path, header: Any, data: bytes) -> None:
    try:
        file = open_bytes(tmp_path, with_header(header, data))
    except PackageError:
        return
    assert file.elements >= 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 10_000), value=st.integers(0, 255))
def test_a_changed_byte_never_breaks_the_reader(tmp_path: Path, position: int, value: int) -> None:
    content = bytearray(save(TENSORS))
    content[position % len(content)] = value
    try:
        file = open_bytes(tmp_path, bytes(content))
    except PackageError:
        return
    for key, info in file.tensors.items():
        if info.dtype.startswith(("F", "BF")):
            assert file.read(key).shape == info.shape
