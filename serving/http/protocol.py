"""The HTTP/1.1 connection: uvicorn's protocol, where it would lose a body or answer in another shape."""

from __future__ import annotations

from typing import Final, NoReturn

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serving.http.edge import new_request_id
from serving.http.errors import error_body, invalid
from serving.http.json import encode

MAX_HEAD_BYTES: Final = 64 * 1024
"""Bytes of a request line with its headers."""

_OFFER: Final = (b"upgrade", b"http2-settings")
_HEAD_TOO_LONG: Final = f"a request line with its headers may have at most {MAX_HEAD_BYTES} bytes"
_SLICE: Final = 16 * 1024
_FRAMING: Final = 16
"""Bytes on the wire that a byte of a body may take in chunks: one to a chunk needs six."""


class Protocol(HttpToolsProtocol):
    """Declines every offer to change the protocol, and refuses what is no HTTP with a JSON error.

    Some clients offer HTTP/2 with each request they send. The parser takes an offer for the end of HTTP on the
    connection and passes the body by; declined here means that the request is read again without the offer.
    """

    _in_body = False
    _turned = False  # whether a head or a body ended in what was read last
    _sent = 0  # bytes of the head, or of the body as it is on the wire, since then
    _given = 0  # bytes of the body
    _refusal = "this is no HTTP/1.1 request"

    def data_received(self, data: bytes) -> None:
        """Read the next bytes of the connection; each offer in them is declined, and what follows it is read on."""
        self._unset_keepalive_if_required()
        try:
            while data:
                data = self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response(self._refusal)

    def on_headers_complete(self) -> None:
        """Begin the request unless its body is coded in a way that nothing here undoes."""
        for name, value in self.headers:
            if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                self._refuse("Transfer-Encoding may only be chunked")
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEAD_BYTES:
            self._refuse(_HEAD_TOO_LONG)
        self._in_body, self._turned, self._given = True, True, 0
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; one behind a body has no meaning here and is refused."""
        if self._in_body:
            self._refuse("trailers behind a chunked body are not taken")
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._given += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        self._in_body, self._turned = False, True
        super().on_message_complete()

    def _feed(self, data: bytes) -> bytes:
        """Read up to the next offer, a head in slices; give what must be read after that."""
        fed = data if self._in_body else data[:_SLICE]
        try:
            self.parser.feed_data(fed)
        except httptools.HttpParserUpgrade as offer:
            return self._decline(data[offer.args[0] :])
        self._sent = 0 if self._turned else self._sent + len(fed)
        self._turned = False
        if self._sent > MAX_HEAD_BYTES + (_FRAMING * self._given if self._in_body else 0):
            self._refuse(_HEAD_TOO_LONG)
        return data[len(fed) :]

    def _refuse(self, message: str) -> NoReturn:
        self._refusal = message
        raise httptools.HttpParserError(message)

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
