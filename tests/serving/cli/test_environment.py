"""Variables that must stand before the numerical libraries are imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serving.cli.environment import cpu_quota, kept_folder, make_kept_folder, prepare_environment, usable_cpus
from serving.cli.failure import CommandFailed

NAMES = ("NPROC", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "JAX_PLATFORMS", "XLA_PYTHON_CLIENT_PREALLOCATE")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of its own for each test."""
    monkeypatch.setattr(os, "environ", {"HOME": "/home/vela"})
    monkeypatch.setattr("serving.cli.environment.usable_cpus", lambda: 5)


@pytest.mark.parametrize(
    ("before", "threads", "only_cpu", "expected"),
    [
        ({}, None, False, {"NPROC": "5", "RAYON_NUM_THREADS": "5", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
        ({}, 3, False, {"NPROC": "3", "RAYON_NUM_THREADS": "3"}),
        ({"OMP_NUM_THREADS": "2"}, None, False, {"NPROC": "2", "OMP_NUM_THREADS": "2"}),
        ({"OMP_NUM_THREADS": "2"}, 3, False, {"NPROC": "3", "OMP_NUM_THREADS": "2"}),
        ({"NPROC": "7"}, None, False, {"NPROC": "7"}),
        ({"NPROC": "7"}, 3, False, {"NPROC": "3"}),
        ({}, None, True, {"JAX_PLATFORMS": "cpu"}),
        ({"JAX_PLATFORMS": "cuda"}, None, True, {"JAX_PLATFORMS": "cuda"}),
        ({"XLA_PYTHON_CLIENT_PREALLOCATE": "true"}, None, False, {"XLA_PYTHON_CLIENT_PREALLOCATE": "true"}),
    ],
)
def test_variables(before: dict[str, str], threads: int | None, only_cpu: bool, expected: dict[str, str]) -> None:
    os.environ.update(before)
    prepare_environment(threads=threads, only_cpu=only_cpu)
    assert {name: os.environ[name] for name in expected} == expected
    assert only_cpu or "JAX_PLATFORMS" not in os.environ


@pytest.mark.parametrize("value", ["0", "-1", "many", ""])
def test_a_bad_thread_variable_is_refused(value: str) -> None:
    os.environ["OMP_NUM_THREADS"] = value
    with pytest.raises(CommandFailed, match="OMP_NUM_THREADS must be a whole number from 1 on"):
        prepare_environment()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("", {}, None),
        ("0::/", {}, None),
        ("0::/", {"cpu.max": "max 100000\n"}, None),
        ("0::/", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2.0),
        ("0::/a/b", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "300000 100000"}, 2.0),
        ("4:cpu,cpuacct:/x\n", {"cpu/x/cpu.cfs_quota_us": "50000", "cpu/x/cpu.cfs_period_us": "100000"}, 0.5),
        ("4:cpu,cpuacct:/x\n", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, None),
        ("4:cpu:/gone\n", {"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3.0),
    ],
)
def test_quota_of_the_control_group(
    tmp_path: Path, membership: str, files: dict[str, str], expected: float | None
) -> None:
    write(tmp_path / "cgroup", membership)
    for name, text in files.items():
        write(tmp_path / "root" / name, text)
    assert cpu_quota(tmp_path / "root", tmp_path / "cgroup") == expected


@pytest.mark.parametrize(("quota", "expected"), [("max 100000", 4), ("50000 100000", 1), ("150000 100000", 2)])
def test_cpus_are_capped_by_the_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    write(tmp_path / "cgroup", "0::/")
    write(tmp_path / "root" / "cpu.max", quota)
    assert usable_cpus(tmp_path / "root", tmp_path / "cgroup") == expected


@pytest.mark.parametrize(
    ("option", "before", "expected"),
    [
        ("/o", {"VLLM_SRUN_AUTOTUNE_CACHE": "/v"}, "/o"),
        (None, {"VLLM_SRUN_AUTOTUNE_CACHE": "/v", "XDG_CACHE_HOME": "/x"}, "/v"),
        (None, {"XDG_CACHE_HOME": "/x"}, "/x/vela-jax"),
        (None, {}, "/home/vela/.cache/vela-jax"),
    ],
)
def test_folder_of_compiled_code(option: str | None, before: dict[str, str], expected: str) -> None:
    os.environ.update(before)
    assert kept_folder(Path(option) if option else None) == Path(expected)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
@pytest.mark.parametrize("threads", [1, 3])
def test_the_variable_bounds_the_thread_pool_of_a_forward(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import os\n"
        "from serving.cli.environment import prepare_environment\n"
        f"prepare_environment(threads={threads}, only_cpu=True)\n"
        "import jax, jax.numpy as jnp\n"
        "jax.block_until_ready(jax.jit(lambda a: a @ a)(jnp.ones((64, 64))))\n"
        "names = [open(f'/proc/self/task/{t}/comm').read().strip() for t in os.listdir('/proc/self/task')]\n"
        "print(names.count('tf_XLAEigen'))\n"
    )
    monkeypatch.undo()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) == threads


def test_a_folder_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandFailed, match="file/kept cannot be the folder of what"):
        make_kept_folder(tmp_path / "file" / "kept")
    assert make_kept_folder(tmp_path / "a" / "b").is_dir()
