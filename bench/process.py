"""A server of its own for a benchmark: started as an operator starts it, watched, and ended."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import psutil

START_TIMEOUT = 900.0
STOP_TIMEOUT = 30.0


@dataclass(slots=True)
class Server:
    """A started `vela serve` and where it listens."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    ready_after: float = 0.0  # seconds from start to ready

    def cards(self) -> list[dict[str, Any]]:
        """Cards of the served models."""
        cards: list[dict[str, Any]] = httpx.get(f"{self.url}/v1/models").json()["data"]
        return cards

    def peak_rss(self) -> int:
        """Largest resident memory of the process so far, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])

    def rss(self) -> int:
        """Resident memory now, in bytes."""
        resident: int = psutil.Process(self.process.pid).memory_info().rss
        return resident


@contextlib.contextmanager
def serving(arguments: Sequence[str], log: Path) -> Iterator[Server]:
    """Start `vela serve` with the arguments on a free port, wait until it is ready, and end it afterwards."""
    port = free_port()
    command = [sys.executable, "-m", "serving", "serve", *arguments, "--port", str(port)]
    with log.open("wb") as output:
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        server = Server(process, f"http://127.0.0.1:{port}", log)
        with _Ending(process):
            _wait_ready(server)
            server.ready_after = time.monotonic() - started
            yield server


def free_port() -> int:
    """A TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_ready(server: Server) -> None:
    until = time.monotonic() + START_TIMEOUT
    while time.monotonic() < until:
        if server.process.poll() is not None:
            raise RuntimeError(f"the server ended with {server.process.returncode}: {server.log.read_text()[-2000:]}")
        with contextlib.suppress(httpx.TransportError):
            health = httpx.get(f"{server.url}/health", timeout=5)
            if health.status_code == 200:
                return
            if health.json()["status"] == "failed":
                raise RuntimeError(f"the model failed: {health.json()['reason']}")
        time.sleep(0.02)
    raise TimeoutError(f"the server was not ready after {START_TIMEOUT:g} s")


class _Ending:
    """Ends a process when the block is left: asked first, then made to."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
