"""`vela serve` as a process that meets a broken device, damaged caches, and its end under load."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import httpx
import pytest

from tests.end_to_end.callers import PATIENCE, Call, Reply, ask, on_loop
from tests.end_to_end.injected import FAULTS, SLOW_SECONDS, SLOWS
from tests.end_to_end.packages import write_small

PRODUCT: Final = "serving"
INJECTED: Final = "tests.end_to_end.injected"
ENDS_WITHIN: Final = 15.0
ENGINE_ARGS: Final = {"warmup": [16], "background": [], "row_buckets": [1, 2], "length_buckets": [16, 96]}


@dataclass(frozen=True)
class Server:
    """A `vela` that is ready."""

    process: subprocess.Popen[str]
    port: int
    log: IO[str]
    said: str  # until it was ready

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models file with one tiny model."""
    root = tmp_path_factory.mktemp("process")
    package = write_small(root / "sequence", "sequence", 96)
    path = root / "models.yaml"
    path.write_text(json.dumps({"models": [{"model": str(package), "name": "m", "engine_args": ENGINE_ARGS}]}))
    return path


@contextmanager
def started(module: str, models: Path, kept: Path, *words: str) -> Iterator[Server]:
    """Start a server, wait until it is ready; killed when the block leaves it running."""
    options = ["serve", "--models", str(models), "--port", "0", "--autotune-cache", str(kept), *words]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", module, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        said = ""
        try:
            for line in process.stderr:
                said += line
                if "is ready" in line:
                    break
            port = re.search(r"listening on \S+:(\d+)", said)
            assert port, said
            yield Server(process, int(port[1]), process.stderr, said)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the servers of these tests keep on disk."""
    return tmp_path_factory.mktemp("kept")


def test_a_device_fault_is_said_and_ends_the_process_for_a_new_start(models: Path, kept: Path) -> None:
    async def scenario(server: Server) -> list[Reply]:
        before = await ask(server.port, {"input": "the river"})
        waiting = await Call.send(server.port, {"input": f"the {SLOWS} river {FAULTS}"})
        await asyncio.sleep(SLOW_SECONDS / 4)
        behind = await Call.send(server.port, {"input": "the sea"})
        found = [before, await waiting.reply(), await behind.reply()]
        return [*found, await ask(server.port, {"input": "the river"})]

    with started(INJECTED, models, kept) as server:
        before, hit, behind, after = on_loop(scenario(server))
        faulted = time.monotonic()
        health = httpx.get(f"{server.url}/health")
        assert server.process.wait(PATIENCE) == 3
        assert time.monotonic() - faulted < ENDS_WITHIN
        assert before.status == 200
        assert (hit.status, hit.code) == (500, "internal_error")
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in hit.body["error"]["message"]
        assert (behind.status, behind.code) == (503, "not_ready")
        assert (after.status, after.code) == (503, "not_ready")
        assert (health.status_code, health.json()["status"]) == (503, "degraded")
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in health.json()["reason"]
        assert "the device failed under model m" in server.log.read()


def test_damaged_caches_are_built_again_and_answers_stay(models: Path, tmp_path: Path) -> None:
    body = {"input": ["the river", "the sea is blue", "a long word " * 20]}
    with started(PRODUCT, models, tmp_path) as server:
        whole = on_loop(ask(server.port, body))
        until = time.monotonic() + PATIENCE  # the probe works in the background
        while not (tmp_path / "bit-classes").is_dir() and time.monotonic() < until:
            time.sleep(0.1)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == -signal.SIGTERM
    entries = list((tmp_path / "executables").glob("*-cache"))
    records = list((tmp_path / "bit-classes").glob("*.json"))
    assert len(entries) >= 2
    assert len(records) == 1
    for number, entry in enumerate(entries):
        data = bytearray(entry.read_bytes())
        data[len(data) // 2 + number] ^= 255
        entry.write_bytes([bytes(data), b"garbage", b"", bytes(data[:99])][number % 4])
    records[0].write_bytes(b'{"format":')
    with started(PRODUCT, models, tmp_path) as server:
        assert "kept executable is damaged" in server.said
        assert "probe's record" in server.said
        assert on_loop(ask(server.port, body)) == whole
        until = time.monotonic() + PATIENCE
        while records[0].read_bytes() == b'{"format":' and time.monotonic() < until:
            time.sleep(0.1)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == -signal.SIGTERM
    for entry in (tmp_path / "executables").glob("*-cache"):
        seal = entry.with_name(entry.name + ".sha256")
        assert hashlib.sha256(entry.read_bytes()).hexdigest() == seal.read_text()
    assert json.loads(records[0].read_bytes())["classes"]


def test_a_signal_under_load_leaves_no_request_unanswered(models: Path, kept: Path) -> None:
    async def scenario(server: Server) -> tuple[list[Reply], float]:
        bodies: list[dict[str, Any]] = [{"input": f"the {SLOWS} river {number}"} for number in range(100)]
        calls = [await Call.send(server.port, body) for body in bodies]
        first = await calls[0].reply()
        signalled = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        found = [first, *(await asyncio.gather(*(call.reply() for call in calls[1:])))]
        assert await asyncio.to_thread(server.process.wait, PATIENCE) == -signal.SIGTERM
        return found, time.monotonic() - signalled

    with started(INJECTED, models, kept, "--result-cache-entries", "0") as server:
        found, seconds = on_loop(scenario(server))
        assert seconds < ENDS_WITHIN
        assert set(Counter(reply.status for reply in found)) == {200, 503}
        assert {reply.code for reply in found if reply.status == 503} == {"not_ready"}
        results = [str(reply.result["probabilities"]) for reply in found if reply.status == 200]
        assert len(set(results)) == len(results), "each answer is another request's"
        assert "Traceback" not in server.log.read()
