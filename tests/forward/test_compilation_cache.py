"""Executables on disk: used again when whole, compiled again when not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from tests.forward import networks
from vela_jax.forward.compilation_cache import keep_compiled, seal_compiled
from vela_jax.forward.executables import Executables, Shape

SHAPE = Shape(2, 16, 2)
NAMES = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    """Leave the settings of the process as they were."""
    names = (*NAMES, "jax_persistent_cache_min_entry_size_bytes")
    before = {name: getattr(jax.config, name) for name in names}
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def compile_and_run(folder: Path) -> list[float]:
    """Start as a process does: keep executables in the folder, compile, run."""
    keep_compiled(folder)
    executables = Executables(networks.network(networks.honest), jax.devices()[0])
    executables.ensure(SHAPE)
    ids = np.zeros((2, 16), np.int32)
    ids[:, 0] = (1, 3)
    return [float(value) for value in executables.run(SHAPE, ids, np.array([1, 1], np.int32))["sum"]]


def files(folder: Path) -> dict[str, bytes]:
    """The network's entry and its seal; making the network's parameters may have left further ones."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("jit__at_depth*"))}


def test_whole_entries_are_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert compile_and_run(folder) == [4.0, 12.0]
    kept = files(folder)
    assert len(kept) == 2
    assert compile_and_run(folder) == [4.0, 12.0]
    assert files(folder) == kept


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda data: b"",  # noqa: ARG005
    "cut": lambda data: data[: len(data) // 2],
    "foreign": lambda data: b"garbage" * 99,  # noqa: ARG005
    "flipped": lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_compiled_again(
    tmp_path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    compile_and_run(tmp_path)
    kept = files(tmp_path)
    entry = min(kept)
    (tmp_path / entry).write_bytes(damage(kept[entry]))
    with caplog.at_level(logging.WARNING):
        assert compile_and_run(tmp_path) == [4.0, 12.0]
    assert "damaged and will be compiled again" in caplog.text
    assert len(files(tmp_path)[entry]) > 1000
    caplog.clear()
    assert compile_and_run(tmp_path) == [4.0, 12.0]
    assert not caplog.text


@pytest.mark.parametrize("seal", [None, b"", b"\xff"])
def test_an_entry_without_its_seal_is_not_read(tmp_path: Path, seal: bytes | None) -> None:
    compile_and_run(tmp_path)
    (entry,) = tmp_path.glob("jit__at_depth*-cache")
    entry.write_bytes(b"half writ")
    sealing = entry.with_name(entry.name + ".sha256")
    if seal is None:
        sealing.unlink()
    else:
        sealing.write_bytes(seal)
    assert compile_and_run(tmp_path) == [4.0, 12.0]
    assert len(files(tmp_path)) == 2


def test_without_a_folder_nothing_is_sealed() -> None:
    jax.config.update("jax_compilation_cache_dir", None)
    seal_compiled()


def test_a_folder_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    keep_compiled(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    seal_compiled()
