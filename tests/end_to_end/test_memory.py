"""Memory that texts of megabytes take in a server process of its own: it follows the budget, not the text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.end_to_end.asking import classify
from tests.end_to_end.packages import write_small
from tests.end_to_end.server import free_port

# 5 MiB, and as much of it as the model takes.
TEXT: Final = "The river is long and the garden is green; a small dog sat by the old road and ate bread. " * 58_255
PART: Final = TEXT[:60_000]
LIMIT: Final = 32_768
WINDOW: Final = {"tokens": 512, "overlap": 64}


@dataclass(frozen=True, slots=True)
class Process:
    """A server process that has answered once, and the memory it takes then, in KiB."""

    url: str
    number: int
    own: int

    def peak_over_own(self) -> float:
        """MiB that the process ever took beyond what it took at first."""
        return (_kib(self.number, "VmHWM") - self.own) / 1024


def _kib(process: int, name: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1])


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak of a process is read from /proc")
    package = write_small(tmp_path_factory.mktemp("memory") / "guard", "guard", LIMIT)
    port = free_port()
    models = package.parent / "models.yaml"
    cold = {"warmup": [], "background": [], "row_buckets": [1]}
    entry = {"model": str(package), "engine_args": cold}
    models.write_text(json.dumps({"models": [entry]}), encoding="utf-8")
    command = [sys.executable, "-m", "serving", "serve", "--models", str(models), "--port", str(port), "--offline"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(package.parent)}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url, server)
        with httpx.Client(base_url=url, timeout=60) as client:  # what is compiled is the model's own
            classify(client, "guard", ["a", PART], max_tokens=512, overflow="truncate")
        Path(f"/proc/{server.pid}/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
        yield Process(url, server.pid, _kib(server.pid, "VmRSS"))
    finally:
        server.terminate()
        server.wait(30)


def _wait_until_ready(url: str, server: subprocess.Popen[bytes]) -> None:
    end, said = time.monotonic() + 120, "nothing yet"
    while time.monotonic() < end:
        assert server.poll() is None, "the server ended"
        try:
            health = httpx.get(f"{url}/health")
        except httpx.TransportError:
            time.sleep(0.1)
            continue
        if health.status_code == 200:
            return
        said = health.text
        time.sleep(0.1)
    raise AssertionError(f"the server is not ready in time; it says {said}")


@pytest.fixture
def client(process: Process) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=process.url, timeout=300) as client:
        yield client


CALLS: Final[dict[str, tuple[str, dict[str, Any], str | None]]] = {
    "reject": (TEXT, {"overflow": "reject"}, "max_length_exceeded"),
    "windows, over the budget": (TEXT, {"overflow": "window", "window": WINDOW}, "scan_budget_exceeded"),
    "truncate": (TEXT, {"overflow": "truncate", "max_tokens": 512}, None),
    "windows, within the budget": (PART, {"overflow": "window", "window": WINDOW}, None),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_text(process: Process, client: httpx.Client, name: str, record_property: Callable[..., None]) -> None:
    text, options, error = CALLS[name]
    (result,) = classify(client, "guard", text, **options)
    assert result.get("error") == error
    _check(process, name, 200, record_property)


def test_four_texts_at_once(process: Process, client: httpx.Client, record_property: Callable[..., None]) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: classify(client, "guard", TEXT), range(4)))
    assert answers == [[{"index": 0, "error": "max_length_exceeded"}]] * 4
    _check(process, "four at once", 400, record_property)


def _check(process: Process, name: str, most: float, record: Callable[..., None]) -> None:
    peak = process.peak_over_own()
    record("peak_mib", peak)
    print(f"{name}: {peak:.0f} MiB at the most so far")
    assert peak < most
