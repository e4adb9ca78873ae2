"""Load on two servers in turns; one server stands for both."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench.peers import http_load
from bench.peers.http_load import INFINITY, OURS, Peer, compare, infinity_versions, largest_difference
from bench.process import Server, StartFailed
from bench.workload import Mix
from tests.bench.conftest import Start

MIX = Mix(2, 5)


@pytest.fixture
def peers(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[Peer]:
    monkeypatch.setattr(http_load, "MODEL", "embedding")
    monkeypatch.setattr(http_load, "WARM_CALLS", 2)
    return [Peer(name, server, "/v1/embeddings") for name in (OURS, INFINITY)]


def test_each_round_measures_both(peers: list[Peer]) -> None:
    result = compare(peers, MIX, 2, calls=4, rounds=3)
    assert {name: len(found) for name, found in result.summaries.items()} == {OURS: 3, INFINITY: 3}
    assert result.rate(OURS) > 0
    assert result.wall(OURS, 0.95) > 0
    assert result.ratio().median > 0


def test_equal_servers_differ_by_nothing(peers: list[Peer]) -> None:
    assert largest_difference(peers, MIX) == 0.0


def test_infinity_is_started_with_the_package_and_ours_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    monkeypatch.setattr(http_load, "serving", start)
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{STAND_IN}", encoding="utf-8")
    python.chmod(0o755)
    with http_load.both_serving("folder", python, 2, tmp_path) as peers:
        assert [peer.name for peer in peers] == [OURS, INFINITY]
        said = " ".join(line for _, line in peers[1].server.lines)
    assert "infinity_emb v2 --model-id folder" in said
    assert "--no-bettertransformer" in said
    assert "offline 1 threads 2" in said
    (arguments,) = start.asked  # type: ignore[attr-defined]
    assert arguments[0] == "folder"
    assert "HF_HUB_OFFLINE" in os.environ


def test_a_python_without_infinity_is_told(tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match="has no Infinity: run"):
        infinity_versions(Path(sys.executable))
    with pytest.raises(StartFailed, match="cannot be run"):
        infinity_versions(tmp_path / "python")


STAND_IN = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
print(*sys.argv, "offline", os.environ["HF_HUB_OFFLINE"], "threads", os.environ["OMP_NUM_THREADS"], flush=True)
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
