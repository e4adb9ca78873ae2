"""The application on a real server and a loopback port, over a service that the test steers."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from serving.app import build_app
from serving.errors import ErrorCode, RequestFailed
from serving.generation import Generator
from serving.received import Endpoint, Received
from serving.server import HttpServer, ServerSettings
from serving.sockets import Address
from serving.text_side import TextSide
from serving.timing import Timing

PATIENCE = 10.0
LIMIT = 2000
CARD: dict[str, Any] = {
    "id": "sorter",
    "object": "model",
    "created": 1_700_000_000,
    "owned_by": "vllm-sr",
    "family": "task_heads",
    "repo": "org/Sorter-1",
    "revision": None,
    "surfaces": ["classify"],
    "heads": [{"name": "default", "kind": "sequence", "labels": ["a", "b"], "inputs": ["text"]}],
    "limits": {"max_input_tokens": 512, "max_inputs": 2048},
    "numerics": "exact",
    "ready": True,
    "status": "ready",
    "reason": None,
    "golden": {"status": "unverified", "checked": 0, "matched": 0, "reference": None},
    "plugins": [],
}
Reply = Callable[[Endpoint, Any], Any]


def echo(endpoint: Endpoint, body: Any) -> Any:
    """Answer with what was asked."""
    return {"surface": endpoint, "body": body}


@dataclass
class FakeService:
    """Answers as told by `reply`; `hold` keeps every answer back until it is set."""

    reply: Reply = echo
    readiness: Exception | None = None
    cards: list[dict[str, Any]] = field(default_factory=lambda: [CARD])
    hold: threading.Event | None = None
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    cancelled: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    seen: list[Any] = field(default_factory=list)
    calls: list[Received] = field(default_factory=list)
    texts: dict[str, TextSide] = field(default_factory=dict)
    generators: dict[str | None, Generator] = field(default_factory=dict)
    stopped: bool = False

    def check_ready_if_single(self) -> None:
        if self.readiness is not None:
            raise self.readiness

    async def answer(self, endpoint: Endpoint, call: Received, timing: Timing) -> dict[str, Any]:
        self.seen.append(call.body)
        self.calls.append(call)
        self.entered.release()
        timing.planned = timing.submitted = time.monotonic()
        try:
            while self.hold is not None and not self.hold.is_set():
                await asyncio.sleep(0.002)
        except asyncio.CancelledError:
            self.cancelled.release()
            raise
        timing.last_forward_end = timing.answered = time.monotonic()
        timing.forward = timing.answered - timing.submitted
        answer: dict[str, Any] = self.reply(endpoint, call.body)
        timing.assembled = time.monotonic()
        return answer

    def text_side(self, name: str | None) -> TextSide:
        if name not in self.texts:
            raise RequestFailed(ErrorCode.MODEL_NOT_FOUND, f"model {name!r} is not served")
        return self.texts[name]

    def generator(self, name: str | None) -> Generator:
        if name not in self.generators:
            raise RequestFailed(ErrorCode.MODEL_NOT_FOUND, f"model {name!r} is not served")
        return self.generators[name]

    def model_cards(self) -> list[dict[str, Any]]:
        return self.cards

    def model_list(self) -> dict[str, Any]:
        limits = {"max_bundle_tasks": 64, "max_request_bytes": LIMIT}
        models = [{"name": "sorter", "description": "", "release_date": "2026-11-30"}]
        return {"object": "list", "api_version": "2.3.0", "data": self.cards, "limits": limits, "models": models}

    def health(self) -> tuple[int, dict[str, Any]]:
        ready = self.readiness is None
        body = {"api_version": "2.3.0", "status": "ready" if ready else "loading", "reason": None, "model": "sorter"}
        return 200 if ready else 503, body

    def liveness(self) -> dict[str, Any]:
        return {"api_version": "2.3.0", "status": "alive"}

    async def stop(self) -> None:
        self.stopped = True


@dataclass
class FakeMetrics:
    """Remembers the calls."""

    calls: list[tuple[str, int]] = field(default_factory=list)

    def request_done(self, endpoint: str, status: int, seconds: float) -> None:
        assert 0 <= seconds < PATIENCE
        self.calls.append((endpoint, status))

    def render(self) -> bytes:
        return b"# TYPE vllm_srun_ready gauge\nvllm_srun_ready 1.0\n"

    def wait_for(self, call: tuple[str, int]) -> None:
        """Wait until a call has been counted."""
        deadline = time.monotonic() + PATIENCE
        while call not in self.calls:
            assert time.monotonic() < deadline, f"{call} was not counted; counted were {self.calls}"
            time.sleep(0.002)


@dataclass
class Loopback:
    """A running server and its stand-ins."""

    service: FakeService
    metrics: FakeMetrics
    port: int
    client: httpx.Client

    def reset(self) -> None:
        """Forget what a test did."""
        fresh = FakeService()
        self.service.__dict__.update(fresh.__dict__)
        self.metrics.calls.clear()

    def post(self, body: bytes = b"{}", path: str = "/v1/classify", **headers: str) -> httpx.Response:
        """Post a body; underscores in header names stand for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, content=body, headers=named)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Open a connection of plain bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with closing(Connection(sock)) as connection:
                yield connection


@dataclass(frozen=True)
class Answer:
    """One response read from a connection."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """Sends bytes as they are and reads responses one by one."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._reader = sock.makefile("rb")

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def read(self) -> Answer:
        """Read one response that states its length."""
        status = int(self._reader.readline().split()[1])
        headers = {}
        while line := self._reader.readline().rstrip(b"\r\n"):
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        return Answer(status, headers, self._reader.read(int(headers["content-length"])))

    def is_closed(self) -> bool:
        """Tell whether the server has closed its side; waits for it."""
        return self._reader.read(1) == b""

    def close(self) -> None:
        self._reader.close()


def request_bytes(body: bytes = b"{}", path: str = "/v1/classify", method: str = "POST", **headers: str) -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "host: test", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def listening(server: HttpServer) -> Iterator[tuple[int, httpx.Client]]:
    """Run a server in a thread; gives its port and a client of it. At the end it has been stopped."""
    lines: list[str] = []
    started = threading.Event()

    def announce(line: str) -> None:
        lines.append(line)
        started.set()

    thread = threading.Thread(target=server.run, args=(announce,))
    thread.start()
    try:
        assert started.wait(PATIENCE)
        url = lines[0].split()[-1]
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
            yield int(url.rsplit(":", 1)[1]), client
    finally:
        server.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()


@contextmanager
def serving(limit: int = LIMIT, drain_seconds: float = PATIENCE, with_page: bool = True) -> Iterator[Loopback]:
    """Run the application in a thread; at the end its service has been stopped."""
    service, metrics = FakeService(), FakeMetrics()
    app = build_app(service, metrics, max_request_bytes=limit, with_page=with_page)
    with listening(HttpServer(app, ServerSettings(Address(port=0), drain_seconds))) as (port, client):
        yield Loopback(service, metrics, port, client)
    assert service.stopped
