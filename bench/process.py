"""Servers of a benchmark: started as an operator starts them, watched, and ended."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import httpx
import psutil

START_TIMEOUT: Final = 900.0
STOP_TIMEOUT: Final = 30.0
POLL_SECONDS: Final = 0.02


class StartFailed(Exception):
    """A server did not come up; the message says what it printed."""


@dataclass(slots=True)
class Server:
    """A started server process and where it listens."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    ready_after: float = 0.0  # seconds from start to ready
    lines: list[tuple[float, str]] = field(default_factory=list)  # what it printed, and how long after its start

    def cards(self) -> list[dict[str, Any]]:
        """Cards of the served models."""
        cards: list[dict[str, Any]] = httpx.get(f"{self.url}/v1/models", timeout=60).json()["data"]
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
    with started(command, {}, port, log) as server:
        yield server


@contextlib.contextmanager
def started(command: Sequence[str], environment: Mapping[str, str], port: int, log: Path) -> Iterator[Server]:
    """Start a server that listens on a loopback port, wait until `/health` answers 200, and end it afterwards.

    Raises StartFailed when it cannot be run, ends before, or never is ready.
    """
    begun = time.monotonic()
    process = _popen(command, environment)
    assert process.stdout is not None
    server = Server(process, f"http://127.0.0.1:{port}", log)
    reader = threading.Thread(target=_keep_lines, args=(process.stdout, server, begun), daemon=True)
    reader.start()
    try:
        _wait_ready(server, port, reader)
        server.ready_after = time.monotonic() - begun
        yield server
    finally:
        _end(process)
        reader.join(STOP_TIMEOUT)
        process.stdout.close()


def _popen(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **environment}
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    except OSError as error:
        raise StartFailed(f"{command[0]} cannot be run: {error.strerror}") from error


def free_port() -> int:
    """A TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _keep_lines(output: IO[bytes], server: Server, begun: float) -> None:
    """Copy what the server prints into its log, and note when it came."""
    with server.log.open("wb") as log:
        for line in output:
            server.lines.append((time.monotonic() - begun, line.decode("utf-8", "replace").rstrip()))
            log.write(line)
            log.flush()


def _wait_ready(server: Server, port: int, reader: threading.Thread) -> None:
    until = time.monotonic() + START_TIMEOUT
    while time.monotonic() < until:
        if server.process.poll() is not None:
            reader.join(STOP_TIMEOUT)
            printed = server.log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise StartFailed(f"the server ended with {server.process.returncode}: {printed}")
        if _is_ready(port):
            return
        time.sleep(POLL_SECONDS)
    raise StartFailed(f"the server was not ready after {START_TIMEOUT:g} s")


def _is_ready(port: int) -> bool:
    """Ask for the server's health with little work of its own; StartFailed when it says that it failed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        reply = connection.getresponse()
        body = reply.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if reply.status != 200 and b'"failed"' in body:
        raise StartFailed(f"the model failed: {json.loads(body).get('reason')}")
    return reply.status == 200


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process: asked first, then made to."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
