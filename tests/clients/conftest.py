"""A server for the released clients, and the promise that they call nobody else."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import httpx
import pytest

from serving.config import ModelEntry
from tests.end_to_end.packages import HANDED, write_small
from tests.end_to_end.server import FEW_BUCKETS, Running, keeping_compiled, running

KEY = "unused"


def client_package(name: str, extra: str = "test") -> ModuleType:
    """Import a client; without it a test is skipped, but fails where the whole test extra must be installed."""
    if os.environ.get("CI") and extra == "test":
        return importlib.import_module(name)
    found: ModuleType = pytest.importorskip(
        name, reason=f"the client {name} is not installed: pip install -e '.[{extra}]'"
    )
    return found


@pytest.fixture(scope="package", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with keeping_compiled(tmp_path_factory):
        yield


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An embedder of two dimensions, also under a name with a slash, a reranker and a classifier."""
    root = tmp_path_factory.mktemp("packages")
    entries = [
        ModelEntry(model=str(HANDED / "embed"), name="embed"),
        ModelEntry(model=str(HANDED / "embed"), name="acme/embed"),
        ModelEntry(model=str(write_small(root / "reranker", "reranker", 256)), name="reranker"),
        ModelEntry(model=str(write_small(root / "guard", "guard", 256)), name="guard"),
    ]
    with running(entries, args=FEW_BUCKETS) as server:
        server.require_ready()
        yield server


@pytest.fixture(scope="package")
def decider() -> Iterator[Running]:
    """One model that decides."""
    package = HANDED.parents[1] / "vela2" / "packages" / "tiny-vela2-enc-a-s1"
    with running([ModelEntry(model=str(package), name="decider")], args=FEW_BUCKETS) as server:
        server.require_ready()
        yield server


@pytest.fixture
def plain(server: Running) -> Iterator[httpx.Client]:
    """A client of no package, to compare with."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse every connection and every look-up of a name but those to this machine, and fail a test that tried."""
    tried: list[Any] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guard(host: Any) -> None:
        if host not in ("127.0.0.1", b"127.0.0.1", "localhost", None):
            tried.append(host)
            raise OSError(f"the tests have no network, and a client wants {host!r}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            guard(address[0])
        connect(self, address)

    def guarded_look_up(host: Any, *others: Any, **members: Any) -> Any:
        guard(host)
        return look_up(host, *others, **members)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    assert not tried
