"""The HTTP/1.1 connection: uvicorn's protocol, where it would lose a body or answer in another shape."""

from __future__ import annotations

from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serving.http.edge import new_request_id
from serving.http.errors import error_body, invalid
from serving.http.json import encode

_OFFER: Final = (b"upgrade", b"http2-settings")


class Protocol(HttpToolsProtocol):
    """Declines every offer to change the protocol, and refuses what is no HTTP with a JSON error.

    Some clients offer HTTP/2 with each request they send. The parser takes an offer for the end of HTTP on the
    connection and passes the body by; declined here means that the request is read again without the offer.
    """

    def data_received(self, data: bytes) -> None:
        """Read the next bytes of the connection; each offer in them is declined, and what follows is read on."""
        self._unset_keepalive_if_required()
        try:
            while data:
                data = self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response("this is no HTTP/1.1 request")

    def _feed(self, data: bytes) -> bytes:
        """Read up to the next offer; give what must be read again without it."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            return self._decline(data[offer.args[0] :])
        return b""

    def _should_upgrade(self) -> bool:
        """Leave a request with an offer alone until it is read again."""
        return True

    def _decline(self, rest: bytes) -> bytes:
        """Give the request again without its offer, with what follows it; nothing when it is refused."""
        if self.scope["method"] == "CONNECT":
            self.send_400_response("this server is no proxy: CONNECT is not taken")
            return b""
        version = self.parser.get_http_version().encode()
        head = [b"%s %s HTTP/%s\r\n" % (self.scope["method"].encode(), self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                tokens = [token.strip() for token in value.split(b",")]
                value = b", ".join(token for token in tokens if token.lower() not in _OFFER)
            if name not in _OFFER and value:
                head.append(b"%s: %s\r\n" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        return b"".join([*head, b"\r\n", rest])

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed, and close."""
        body = encode(error_body(invalid(msg)))
        request_id = new_request_id()
        head = (
            b"HTTP/1.1 400 Bad Request\r\n"
            b"content-type: application/json\r\n"
            b"content-length: %d\r\n"
            b"x-typesafe-request-id: %s\r\n"
            b"x-request-id: %s\r\n"
            b"connection: close\r\n\r\n"
        )
        self.transport.write(head % (len(body), request_id, request_id) + body)
        self.transport.close()
