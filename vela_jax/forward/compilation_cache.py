"""Keeps compiled executables on disk, so that a second start loads what the first one compiled."""

from __future__ import annotations

from pathlib import Path

import jax


def keep_compiled(directory: Path) -> None:
    """Use `directory` for every later compile of the process, however short or small."""
    directory.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
