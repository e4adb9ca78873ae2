"""The sockets the server listens on, bound before anything else starts."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# Whoever reaches the directory may connect, as any local user may on the loopback address.
_SOCKET_MODE: Final = 0o666
_DIRECTORY_MODE: Final = 0o700


class CannotListen(Exception):
    """The address is taken or not ours; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: a host and port, or a Unix socket instead; port 0 takes a free one."""

    host: str = "127.0.0.1"
    port: int = 8100
    uds: Path | None = None


@contextmanager
def listening(address: Address) -> Iterator[list[socket.socket]]:
    """Give bound sockets; closes them, and unlinks a Unix socket's file, at the end. Raises CannotListen."""
    with ExitStack() as stack:
        if address.uds is not None:
            yield [stack.enter_context(_bound_unix(address.uds))]
        else:
            yield _bind_tcp(address.host, address.port, stack)


def url_of(sock: socket.socket) -> str:
    """Give the URL under which a bound socket is reached."""
    if sock.family == socket.AF_UNIX:
        return f"unix:{sock.getsockname()}"
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if sock.family == socket.AF_INET6 else f"http://{host}:{port}"


def _bind_tcp(host: str, port: int, stack: ExitStack) -> list[socket.socket]:
    """Bind every address of the host, all on one port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}: {error.strerror}") from None
    sockets: list[socket.socket] = []
    for family, target in dict.fromkeys((entry[0], entry[4]) for entry in found):
        sock = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        taken = sockets[0].getsockname()[1] if sockets else port
        _bind(sock, (target[0], taken, *target[2:]), f"{host}:{taken}")
        sockets.append(sock)
    return sockets


@contextmanager
def _bound_unix(path: Path) -> Iterator[socket.socket]:
    """Bind a Unix socket. Missing directories are made for the owner alone."""
    _make_directories(path.absolute().parent)
    _remove_stale(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        _bind(sock, str(path), str(path))
        identity = _identity(path)
        try:
            path.chmod(_SOCKET_MODE)
            yield sock
        finally:
            # Somebody may have put another file there meanwhile: that one is not ours.
            if path.exists() and _identity(path) == identity:
                path.unlink()


def _bind(sock: socket.socket, target: tuple[Any, ...] | str, name: str) -> None:
    try:
        sock.bind(target)
        sock.listen(2048)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CannotListen(f"cannot listen on {name}: {reason}") from None


def _make_directories(directory: Path) -> None:
    """Make missing directories, every one of them with the mode (`mkdir` gives it to the last one only)."""
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    try:
        for place in reversed(missing):
            place.mkdir(_DIRECTORY_MODE)
    except OSError as error:
        raise CannotListen(f"cannot make the directory {directory}: {error.strerror}") from None


def _remove_stale(path: Path) -> None:
    """Remove the socket that an earlier server left behind."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise CannotListen(f"cannot listen on {path}: {error.strerror}") from None
    if not stat.S_ISSOCK(mode):
        raise CannotListen(f"cannot listen on {path}: it exists and is no socket; remove it or name another path")
    if _is_served(path):
        raise CannotListen(f"cannot listen on {path}: another server answers there; stop it or name another path")
    path.unlink()


def _is_served(path: Path) -> bool:
    """Whether somebody accepts connections on a socket's file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _identity(path: Path) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino
