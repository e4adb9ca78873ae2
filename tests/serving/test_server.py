from __future__ import annotations

import http.client
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from serving.app import build_app
from serving.http.exchange import Receive, Scope, Send
from serving.server import DEVICE_FAULT_EXIT, KEEP_ALIVE_SECONDS, HttpServer, ServerSettings, StartFailed
from serving.sockets import Address
from tests.serving.http.loopback import PATIENCE, Connection, FakeMetrics, FakeService, request_bytes, serving

PROGRAM = """
import sys, threading
from pathlib import Path
from tests.serving.http.loopback import FakeMetrics, FakeService
from serving.app import build_app
from serving.server import HttpServer, ServerSettings
from serving.sockets import Address, CannotListen

def reply(surface, body):
    if body == "fault":
        server.fail()
        threading.Thread(target=threading.Event().wait).start()
    return {"body": body}

class Slow(FakeService):
    async def answer(self, *asked):
        print("asked", flush=True)
        return await super().answer(*asked)

    async def stop(self):
        print("stopped", flush=True)

service = Slow(reply, hold=threading.Event())
where = sys.argv[1]
address = Address(port=int(where)) if where.isdigit() else Address(uds=Path(where))
server = HttpServer(build_app(service, FakeMetrics()), ServerSettings(address, drain_seconds=float(sys.argv[2])))

def announce(line):
    print(line, flush=True)
    threading.Thread(target=release, daemon=True).start()

def release():
    sys.stdin.readline()
    service.hold.set()

try:
    code = server.run(announce)
except CannotListen as error:
    sys.exit(str(error))
except KeyboardInterrupt:
    code = 130
print("left", flush=True)
sys.exit(code)
"""


@contextmanager
def process(where: str = "0", drain_seconds: float = PATIENCE) -> Iterator[subprocess.Popen[str]]:
    """A server in a process of its own; a line on its input lets its answers go."""
    command = [sys.executable, "-c", PROGRAM, where, str(drain_seconds)]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as child:
        patience = threading.Timer(3 * PATIENCE, child.kill)
        patience.start()
        try:
            yield child
        finally:
            patience.cancel()
            child.kill()


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().rstrip()


def let_go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


@contextmanager
def asking(child: subprocess.Popen[str], body: bytes = b"[1]") -> Iterator[Connection]:
    """Ask the process something it does not answer yet."""
    port = int(line(child).rsplit(":", 1)[1])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock,
        closing(Connection(sock)) as connection,
    ):
        connection.send(request_bytes(body))
        assert line(child) == "asked"
        yield connection


def wait_until_refused(port: int) -> None:
    """Wait until the server takes no more connections."""
    deadline = time.monotonic() + PATIENCE
    with suppress(ConnectionRefusedError):
        while time.monotonic() < deadline:
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
            time.sleep(0.02)
        raise AssertionError("connections are still taken")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_in_flight_finish(number: signal.Signals) -> None:
    with process() as child, asking(child) as connection:
        port = connection.sock.getpeername()[1]
        child.send_signal(number)
        wait_until_refused(port)
        let_go(child)
        answer = connection.read()
        assert (answer.status, answer.json()) == (200, {"body": [1]})
        assert answer.headers["connection"] == "close"
        assert line(child) == "stopped"
        # What ended the process is seen by whoever waits for it.
        assert child.wait(PATIENCE) == (-number if number == signal.SIGTERM else 130)


def test_a_second_signal_gives_up_waiting() -> None:
    with process() as child, asking(child) as connection:
        child.send_signal(signal.SIGTERM)
        wait_until_refused(connection.sock.getpeername()[1])
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE) == -signal.SIGTERM
        assert connection.read().status == 503


def test_waiting_for_requests_is_bounded() -> None:
    with process(drain_seconds=0.3) as child, asking(child) as connection:
        child.send_signal(signal.SIGTERM)
        answer = connection.read()
        assert (answer.status, answer.json()["error"]["code"]) == (503, "not_ready")
        assert line(child) == "stopped"
        assert child.wait(PATIENCE) == -signal.SIGTERM


def test_a_device_fault_ends_the_process_though_threads_hang() -> None:
    with process() as child, asking(child, b'"fault"') as connection:
        let_go(child)
        assert connection.read().status == 200
        assert line(child) == "left"
        assert child.wait(PATIENCE) == DEVICE_FAULT_EXIT == 3


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with process(str(taken.getsockname()[1])) as child:
            _, errors = child.communicate(timeout=PATIENCE)
            assert child.returncode == 1
    assert errors.count("\n") == 1
    assert "Address already in use" in errors


def test_a_unix_socket_is_served_and_unlinked(tmp_path: Path) -> None:
    path = tmp_path / "run" / "vela.sock"
    with process(str(path)) as child:
        assert line(child) == f"listening on unix:{path}"
        let_go(child)
        client = http.client.HTTPConnection("localhost")
        client.sock = socket.socket(socket.AF_UNIX)
        client.sock.connect(str(path))
        for number in range(3):
            client.request("POST", "/v1/classify", f"[{number}]")
            assert client.getresponse().read() == b'{"body":[%d]}' % number
        client.close()
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE) == -signal.SIGTERM
    assert not path.exists()
    assert path.parent.exists()


def test_idle_connections_are_kept_longer_than_clients_keep_them() -> None:
    assert KEEP_ALIVE_SECONDS == 75
    server = HttpServer(build_app(FakeService(), FakeMetrics()), ServerSettings())
    assert server._server.config.timeout_keep_alive == KEEP_ALIVE_SECONDS


def test_idle_connections_do_not_hold_up_the_end() -> None:
    with closing(socket.socket()) as idle, serving(drain_seconds=60) as web:
        idle.connect(("127.0.0.1", web.port))
        assert web.post().status_code == 200


def test_an_application_that_does_not_start() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("no")

    with pytest.raises(StartFailed):
        HttpServer(app, ServerSettings(Address(port=0))).run(print)


@pytest.mark.parametrize(
    ("host", "warned"), [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("::", True)]
)
def test_an_open_address_is_said_loudly(host: str, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    from serving.server import _warn_if_open

    _warn_if_open(Address(host=host))
    assert [record.levelno for record in caplog.records] == ([logging.WARNING] if warned else [])


def test_a_unix_socket_is_not_open(caplog: pytest.LogCaptureFixture) -> None:
    from serving.server import _warn_if_open

    _warn_if_open(Address(host="0.0.0.0", uds=Path("x")))
    assert not caplog.records
