"""A model on a running server, asked over HTTP as any client asks it."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from serving.cli.ask.answering import Reply, read_phases
from serving.cli.failure import CommandFailed

TIMEOUT_SECONDS: Final = 600.0
SHOWN: Final = 300  # characters of an answer that is not understood


class RemoteModel:
    """The model `name` of the server at `url`; without a name the only one, or the only one of a surface."""

    def __init__(self, url: str, name: str | None, surface: str | None) -> None:
        self._url = url.rstrip("/")
        self._name = name
        self._surface = surface
        self._connection, self._prefix = _connect(self._url)

    def card(self) -> Mapping[str, Any]:
        """The card of the model. Raises CommandFailed when the server has no such model or is not one."""
        content, _ = self._call("GET", "/v1/models", None)
        try:
            cards = {card["id"]: card for card in json.loads(content)["data"]}
        except (ValueError, TypeError, KeyError):
            raise CommandFailed(f"{self._url} lists no models: is it a Vela server?") from None
        fitting = {name: card for name, card in cards.items() if self._surface in card.get("surfaces", ())}
        return _choose(fitting if self._name is None and fitting else cards, self._name, self._url)

    def ask(self, surface: str, body: Mapping[str, Any]) -> Reply:
        """Post a request. Raises CommandFailed."""
        encoded = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        content, timing = self._call("POST", f"/v1/{surface}", encoded)
        return Reply(content, read_phases(timing))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _call(self, method: str, path: str, body: bytes | None) -> tuple[bytes, str]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            self._connection.request(method, self._prefix + path, body, headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise CommandFailed(f"{self._url} cannot be asked: {error or type(error).__name__}") from error
        if response.status != 200:
            raise CommandFailed(f"{self._url} refused: {_refusal(response.status, content)}")
        return content, response.getheader("Server-Timing", "")


def _connect(url: str) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is not open yet, and what stands before every path."""
    if url.startswith("unix:"):
        return _UnixConnection(url.removeprefix("unix:")), ""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise CommandFailed(f"--url: {url!r} is no address: {error}") from None
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname:
        raise CommandFailed(f"--url must be http://HOST:PORT, https://HOST or unix:PATH, got {url!r}")
    return kinds[parts.scheme](parts.hostname, port, timeout=TIMEOUT_SECONDS), parts.path


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket's path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _choose(cards: Mapping[str, Mapping[str, Any]], name: str | None, url: str) -> Mapping[str, Any]:
    served = ", ".join(sorted(cards))
    if name is None and len(cards) != 1:
        raise CommandFailed(f"{url} serves several models: name one of {served} by --model")
    card = next(iter(cards.values())) if name is None else cards.get(name) or _by_repo(cards, name)
    if card is None:
        raise CommandFailed(f"{url} serves no model {name!r}; it serves {served}")
    if not card["ready"]:
        raise CommandFailed(f"model {card['id']} is {card['status']}: {card['reason']}; ask again when it is ready")
    return card


def _by_repo(cards: Mapping[str, Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    return next((card for card in cards.values() if card.get("repo") == name), None)


def _refusal(status: int, content: bytes) -> str:
    try:
        error = json.loads(content)["error"]
        return f"{error['code']}: {error['message']}"
    except (ValueError, TypeError, KeyError):
        return f"status {status}: {content[:SHOWN].decode('utf-8', 'replace')}"
