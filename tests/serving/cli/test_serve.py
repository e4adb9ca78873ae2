"""`vela serve` as a process: up, asked, ended; and the starts that are refused."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO

import httpx
import pytest

from checkpoints.fixtures.packages import write_fixture

PATIENCE = 120.0
COMMAND = (sys.executable, "-m", "serving", "serve")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fixture(tmp_path_factory.mktemp("package") / "tiny", "sequence")


@contextmanager
def started(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A server process and its stderr; killed when the block leaves it running."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "JAX_PLATFORMS": "cpu"}
    with subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        end = Timer(PATIENCE, process.kill)  # a line that never comes fails the test instead of holding it
        end.start()
        try:
            yield process, process.stderr
        finally:
            end.cancel()
            process.kill()


def read_until(stream: IO[str], pattern: str) -> re.Match[str]:
    """Read lines until one matches; the pattern's last word must come."""
    lines = []
    for line in stream:
        lines.append(line)
        if match := re.search(pattern, line):
            return match
    raise AssertionError(f"no line matched {pattern!r}: {''.join(lines)}")


def test_a_server_comes_up_answers_and_ends(package: Path, tmp_path: Path) -> None:
    with started(tmp_path, str(package), "--port", "0", "--threads", "1") as (process, log):
        url = read_until(log, r"listening on (http://\S+)")[1]
        live = httpx.get(f"{url}/health/live")
        assert live.json()["status"] == "alive", "HTTP answers while the model loads"
        early = httpx.post(f"{url}/v1/classify", content=b"{")
        assert early.status_code == 503
        read_until(log, "tiny is ready")
        assert httpx.get(f"{url}/health").status_code == 200
        command = read_until(log, "^  (curl .*)")[1]
        sample = httpx.post(f"{url}/v1/classify", content=shlex.split(command)[-1].encode())
        assert sample.status_code == 200, "the first request after ready is answered"
        assert sample.json()["model"] == "tiny"
        page = httpx.get(read_until(log, "or open (.*) in a browser")[1])
        assert page.headers["content-type"].startswith("text/html")
        card = httpx.get(f"{url}/v1/models").json()["data"][0]
        assert (card["ready"], card["numerics"], card["golden"]["status"]) == (True, "exact", "unverified")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert "Traceback" not in log.read()


def test_of_two_models_the_broken_one_fails_alone(package: Path, tmp_path: Path) -> None:
    broken = write_fixture(tmp_path / "broken", "sequence", seed=1)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    models = tmp_path / "models.yaml"
    entries = [{"model": str(broken)}, {"model": str(package), "name": "good", "engine_args": {"warmup": [16]}}]
    models.write_text(json.dumps({"models": entries}))
    path = tmp_path / "run" / "vela.sock"
    with started(tmp_path, "--models", str(models), "--uds", str(path)) as (process, log):
        read_until(log, "good is ready")
        read_until(log, "--unix-socket")
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://vela") as client:
            health = client.get("/health")
            assert health.status_code == 503
            assert health.json()["status"] == "degraded"
            assert "PackageError" in health.json()["models"][str(broken)]["reason"]
            body = {"model": "good", "input": "hello"}
            assert client.post("/v1/classify", json=body).status_code == 200
            assert client.post("/v1/classify", json=body | {"model": "broken"}).status_code == 503
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert not path.exists()


def test_a_taken_port_is_said_in_one_line(package: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with started(tmp_path, str(package), "--port", port) as (process, log):
            assert process.wait(PATIENCE) == 2
            assert re.fullmatch(rf"vela: cannot listen on 127.0.0.1:{port}: .*\n", log.read())


def test_an_open_host_is_warned_of_and_a_load_can_be_interrupted(package: Path, tmp_path: Path) -> None:
    with started(tmp_path, str(package), "--host", "0.0.0.0", "--port", "0") as (process, log):
        read_until(log, "WARNING .*anyone who reaches 0.0.0.0")
        read_until(log, "starting JAX")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert "Traceback" not in log.read()


def test_http_is_up_before_the_libraries_of_models_are_imported() -> None:
    heavy = "[name for name in ('jax', 'transformers', 'orbax') if name in sys.modules]"
    code = f"import sys, serving.app, serving.cli.serve; print({heavy})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
