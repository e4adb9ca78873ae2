"""Servers that a benchmark starts, with small scripts in their place."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench.process import Server, StartFailed, free_port, started

SCRIPT = """
import http.server, sys
status, body = int(sys.argv[2]), sys.argv[3].encode()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
print("model: reading", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def command(port: int, status: int, body: str) -> list[str]:
    return [sys.executable, "-c", SCRIPT, str(port), str(status), body]


def test_a_server_is_started_watched_and_ended(tmp_path: Path) -> None:
    port = free_port()
    with started(command(port, 200, "{}"), {"X": "y"}, port, tmp_path / "log") as server:
        assert server.url == f"http://127.0.0.1:{port}"
        assert server.process.poll() is None
        assert 0 < server.ready_after < 60
        assert 0 < server.rss() <= server.peak_rss()
    assert server.process.poll() is not None
    assert [line for _, line in server.lines] == ["model: reading"]
    assert (tmp_path / "log").read_text(encoding="utf-8") == "model: reading\n"


def test_a_server_that_ends_shows_what_it_said(tmp_path: Path) -> None:
    ending = [sys.executable, "-c", "import sys; print('no such model'); sys.exit(3)"]
    with (
        pytest.raises(StartFailed, match=r"(?s)ended with 3: .*no such model"),
        started(ending, {}, free_port(), tmp_path / "log"),
    ):
        pass


def test_a_model_that_failed_is_not_waited_for(tmp_path: Path) -> None:
    port = free_port()
    body = '{"status": "failed", "reason": "out of tea"}'
    with (
        pytest.raises(StartFailed, match="out of tea"),
        started(command(port, 503, body), {}, port, tmp_path / "log"),
    ):
        pass


def test_a_server_that_never_is_ready_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.process.START_TIMEOUT", 0.3)
    port = free_port()
    with (
        pytest.raises(StartFailed, match="not ready"),
        started(command(port, 503, "{}"), {}, port, tmp_path / "log"),
    ):
        pass


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(StartFailed, match="nothing cannot be run: No such file"),
        started([str(tmp_path / "nothing")], {}, free_port(), tmp_path / "log"),
    ):
        pass


def test_memory_of_a_process_is_read(server: Server) -> None:
    assert server.process.pid == os.getpid()
    assert server.rss() > 1 << 20
    assert server.peak_rss() > 1 << 20


def test_a_free_port_is_free() -> None:
    assert 1024 <= free_port() <= 65535
