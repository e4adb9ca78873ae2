"""What the numerical libraries read from the environment, settled before any of them is imported."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from serving.cli.failure import CommandFailed

CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
MEMBERSHIP: Final = Path("/proc/self/cgroup")
COMPILED_VARIABLE: Final = "VLLM_SRUN_AUTOTUNE_CACHE"


def prepare_environment(*, threads: int | None = None, only_cpu: bool = False) -> None:
    """Set the variables of thread pools, memory and platforms; the caller's own values are kept.

    `threads` bounds the CPU threads of a forward; None means OMP_NUM_THREADS, else what the process may use.
    """
    count = threads or _configured_threads() or usable_cpus()
    if threads is not None:
        os.environ["NPROC"] = str(threads)
    defaults = {
        "NPROC": str(count),  # size of the CPU thread pool of a forward
        "RAYON_NUM_THREADS": str(count),  # tokenizers
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # memory is taken as models need it, so that several fit
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",  # downloads report through this command
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",  # it misses PyTorch, which chat templates do not need
    }
    if only_cpu:
        defaults["JAX_PLATFORMS"] = "cpu"  # an accelerator of the host is left alone
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def kept_folder(option: Path | None) -> Path:
    """Where compiled code and what the probe found are kept: the option, the environment, else the user's cache."""
    named = option or os.environ.get(COMPILED_VARIABLE)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "vela-jax"


def make_kept_folder(option: Path | None) -> Path:
    """Make the folder of `kept_folder`. Raises CommandFailed when it cannot be one."""
    folder = kept_folder(option)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandFailed(
            f"{folder} cannot be the folder of what is kept between runs ({error.strerror}): "
            "name another one by --autotune-cache"
        ) from error
    return folder


def usable_cpus(root: Path = CGROUP_ROOT, membership: Path = MEMBERSHIP) -> int:
    """CPUs that this process may use: its affinity, capped by the quota of its control group."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(root, membership)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def cpu_quota(root: Path, membership: Path) -> float | None:
    """CPUs of time that the control group grants, the least of the group and its parents; None without a bound."""
    groups = _groups(membership)
    folder = root / groups.get("", "").lstrip("/")
    quotas = [_quota_v2(each) for each in (folder, *folder.parents) if each.is_relative_to(root)]
    if all(quota is None for quota in quotas):
        folder = root / "cpu" / groups.get("cpu", "").lstrip("/")
        quotas = [_quota_v1(each) for each in (folder, root / "cpu")]
    return min((quota for quota in quotas if quota is not None), default=None)


def _configured_threads() -> int | None:
    value = os.environ.get("OMP_NUM_THREADS")
    if value is None:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise CommandFailed(f"OMP_NUM_THREADS must be a whole number from 1 on, got {value!r}")
    return int(value)


def _groups(membership: Path) -> Mapping[str, str]:
    """Path of the process's group by controller; version 2 stands under an empty name."""
    paths = {}
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _quota_v2(folder: Path) -> float | None:
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period else None


def _quota_v1(folder: Path) -> float | None:
    quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else None


def _read(path: Path) -> str:
    """Text of a kernel file; empty where there is none."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
