"""Reading a request body within the byte limit, in the order of the HTTP contract (section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from serving.http.codings import decode_content, too_large
from serving.http.errors import invalid
from serving.http.exchange import Exchange
from serving.http.json import decode
from serving.http.multipart import is_form, read_form


@dataclass(slots=True)
class BodyHeaders:
    """The request headers that say how to read the body."""

    length: bytes = b""
    content_type: bytes | None = None
    codings: list[bytes] = field(default_factory=list)


def body_headers(headers: Iterable[tuple[bytes, bytes]]) -> BodyHeaders:
    """Pick the headers that say how to read the body; their names are in lower case."""
    found = BodyHeaders()
    for name, value in headers:
        if name == b"content-type":
            found.content_type = value
        elif name == b"content-length":
            found.length = value
        elif name == b"content-encoding":
            found.codings.append(value)
    return found


async def read_body(
    exchange: Exchange, headers: BodyHeaders, limit: int, forms: bool
) -> tuple[Any, Mapping[str, bytes]]:
    """Read, decode and parse a body: its JSON, and the parts of a multipart one by name.

    `forms` says whether the endpoint takes multipart bodies. Raises RequestFailed (400, 413, 415) and ClientLeft.
    """
    body = await _read(exchange, headers.length, limit)
    if headers.codings:
        body = decode_content(body, headers.codings, limit)
    if headers.content_type is None or not is_form(headers.content_type):
        return decode(body), {}
    if not forms:
        raise invalid("this endpoint reads JSON, not multipart/form-data")
    form = read_form(body, headers.content_type)
    return decode(form.request), form.parts


async def _read(exchange: Exchange, declared: bytes, limit: int) -> bytes:
    """Gather the sent bytes; a body declared too long is not read at all."""
    if declared.isdigit() and int(declared) > limit:
        raise too_large(limit)
    body = await exchange.next_chunk()
    if exchange.body_read and len(body) <= limit:
        return body
    gathered = bytearray(body)
    while len(gathered) <= limit and not exchange.body_read:
        gathered += await exchange.next_chunk()
    if len(gathered) > limit:
        raise too_large(limit)
    return bytes(gathered)
