"""Keeps compiled executables on disk, so that a second start loads what the first one compiled, and nothing else.

JAX reads an entry as it is: a damaged one can end the process or change numbers, and is never replaced. So each entry
is sealed with its digest once it is written, and whatever does not match its seal is removed before it is read.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import jax

_ENTRY: Final = "-cache"  # end of the names that JAX gives
_SEAL: Final = ".sha256"

_log = logging.getLogger(__name__)


def keep_compiled(directory: Path) -> None:
    """Use `directory` for every later compile of the process, however short or small; damaged entries are removed."""
    directory.mkdir(parents=True, exist_ok=True)
    _remove_damaged(directory)
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def seal_compiled() -> None:
    """Seal the entries that were written since; a disk that cannot be written only costs the next start a compile."""
    directory: str | None = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if directory is None:
        return
    try:
        for entry in _entries(Path(directory)):
            seal = _seal_of(entry)
            if not seal.exists():
                seal.write_text(_digest(entry), encoding="ascii")
    except OSError as error:
        _log.warning("executables in %s cannot be sealed: %s", directory, error)


def _remove_damaged(directory: Path) -> None:
    for entry in _entries(directory):
        seal = _seal_of(entry)
        try:
            if seal.read_text(encoding="ascii") == _digest(entry):
                continue
            _log.warning("a kept executable is damaged and will be compiled again: %s", entry.name)
        except (OSError, ValueError):
            pass  # unsealed: another process writes it, or one was ended while it wrote
        entry.unlink(missing_ok=True)
        seal.unlink(missing_ok=True)


def _entries(directory: Path) -> Iterator[Path]:
    return directory.glob(f"*{_ENTRY}")


def _seal_of(entry: Path) -> Path:
    return entry.with_name(entry.name + _SEAL)


def _digest(entry: Path) -> str:
    return hashlib.sha256(entry.read_bytes()).hexdigest()
