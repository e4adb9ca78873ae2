"""The HTTP server of the process: start, main loop and shutdown of uvicorn over our application."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

import uvicorn

from serving.http.exchange import App
from serving.http.protocol import Protocol
from serving.sockets import Address, listening, url_of

KEEP_ALIVE_SECONDS: Final = 75
DEVICE_FAULT_EXIT: Final = 3
_FAULT_GRACE_SECONDS: Final = 0.5
_FAULT_CLEANUP_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


class StartFailed(Exception):
    """The application behind the server did not start."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to listen, and how long a shutdown waits for requests in flight.

    Who manages such processes may kill them 10 s after SIGTERM: what is not answered by then gets its 503 before.
    """

    address: Address = field(default_factory=Address)
    drain_seconds: float = 8.0


class HttpServer:
    """Serves an ASGI application until a signal, `stop` or `fail` ends it.

    A first SIGTERM or SIGINT stops accepting, lets the requests in flight finish and ends the application's
    lifespan; a second one gives up waiting.
    """

    def __init__(self, app: App, settings: ServerSettings) -> None:
        self._settings = settings
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=Protocol,
                ws="none",
                lifespan="on",
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=settings.drain_seconds,  # type: ignore[arg-type]
                access_log=False,
                proxy_headers=False,
                log_config=None,
                server_header=False,
            )
        )
        self._exit_code = 0

    def run(self, announce: Callable[[str], None] = print) -> int:
        """Serve, and give the exit code: 0, or that of `fail`.

        `announce` gets the line that says where the server listens, once it accepts connections.
        Raises CannotListen and StartFailed. A signal that ended the server is raised again when all is cleaned up.
        """
        with listening(self._settings.address) as sockets:
            _warn_if_open(self._settings.address)
            self._server.announce = lambda: announce(f"listening on {', '.join(map(url_of, sockets))}")
            with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
                _serve(runner, self._server.serve(sockets=sockets))
        if self._exit_code == 0 and self._server.received is not None:
            signal.raise_signal(self._server.received)
        return self._exit_code

    def stop(self) -> None:
        """End the server as a first signal does. May be called from any thread."""
        self._server.should_exit = True

    def fail(self, exit_code: int = DEVICE_FAULT_EXIT) -> None:
        """End the process half a second from now with this exit code, whatever is in flight. From any thread.

        `run` returns the code; a process that is still there two seconds later (a thread that waits for a
        broken device cannot be joined) is ended from here.
        """
        self._exit_code = exit_code
        threading.Thread(target=self._give_up, args=(exit_code,), name="device-fault", daemon=True).start()

    def _give_up(self, exit_code: int) -> None:
        time.sleep(_FAULT_GRACE_SECONDS)
        self._server.force_exit = True
        self._server.should_exit = True
        time.sleep(_FAULT_CLEANUP_SECONDS)
        os._exit(exit_code)


class _Uvicorn(uvicorn.Server):
    """uvicorn's server with our meaning of signals."""

    announce: Callable[[], None]
    received: signal.Signals | None = None

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.announce()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle both signals while serving; what raised them again at once is left to `HttpServer.run`."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Finish at the first signal, give up at the second."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self.received = signal.Signals(sig)


def _serve(runner: asyncio.Runner, serving: Coroutine[Any, Any, None]) -> None:
    try:
        runner.run(serving)
    except SystemExit:  # uvicorn's way out, with an exit code that means a device fault here
        raise StartFailed("the application did not start; the log says why") from None


def _warn_if_open(address: Address) -> None:
    """Say loudly that others than this host can ask: the server knows no passwords."""
    if address.uds is not None or address.host == "localhost":
        return
    try:
        if ipaddress.ip_address(address.host).is_loopback:
            return
    except ValueError:
        pass  # a host name: treated as open
    logger.warning("anyone who reaches %s:%d can ask the models: nothing is checked", address.host, address.port)
