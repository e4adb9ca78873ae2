"""Facts of the machine that a result belongs to: processor, memory, versions. No host names and no paths."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any, Final

import psutil

from serving.cli.environment import usable_cpus

PACKAGES: Final = (
    *("vela-jax", "jax", "jaxlib", "flax", "numpy", "blacksheep", "uvicorn", "tokenizers"),
    *("torch", "transformers", "onnx", "onnxruntime"),
)
GIB: Final = 1 << 30
QUIET_LOAD: Final = 0.5


def machine_facts() -> dict[str, Any]:
    """What a reader needs to place a figure. `busy` says that others used the host when the run began."""
    load = os.getloadavg()[0]
    return {
        "processor": processor(),
        "cores": usable_cpus(),
        "memory_gib": round(psutil.virtual_memory().total / GIB),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        "load_average": round(load, 2),
        "busy": load > QUIET_LOAD,
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Model of the first processor."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
