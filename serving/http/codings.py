"""Content codings of a request body (HTTP contract, section 2.3)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import zstandard

from serving.errors import ErrorCode, RequestFailed
from serving.http.errors import invalid

MAX_ZSTD_WINDOW: Final = 8 * 1024 * 1024
# A block of a few bytes may stand for 128 KiB, so a slice this long gives at most 16 MiB at once.
_ZSTD_SLICE: Final = 512
_ZSTD: Final = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW)
_GZIP_FORMAT: Final = 31  # zlib's window bits for one gzip member with its checks


def decode_content(body: bytes, headers: Sequence[bytes], limit: int) -> bytes:
    """Undo the coding that the `Content-Encoding` headers name; at most `limit` bytes come out.

    Raises RequestFailed: 415 for an unknown or a second coding, 400 for a stream that is corrupt, cut short,
    followed by other bytes or made with too large a window, 413 as soon as the decoded bytes exceed `limit`.
    """
    coding = _coding(headers)
    return body if coding is None else _DECODERS[coding](body, limit)


def too_large(limit: int, what: str = "the body") -> RequestFailed:
    """Make the refusal of a body above `max_request_bytes`."""
    return RequestFailed(ErrorCode.REQUEST_TOO_LARGE, f"{what} is larger than {limit} bytes (max_request_bytes)")


def _coding(headers: Sequence[bytes]) -> str | None:
    """Give the one coding in force; `identity` is as none."""
    names = [name.strip().lower() for header in headers for name in header.decode("latin-1").split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return None
    if len(names) > 1:
        raise invalid(f"Content-Encoding names {len(names)} codings ({', '.join(names)}); send at most one", status=415)
    if names[0] not in _DECODERS:
        raise invalid(f"Content-Encoding {names[0]!r} is not supported; use one of {sorted(_DECODERS)}", status=415)
    return names[0]


def _decode_gzip(body: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj(_GZIP_FORMAT)
    try:
        decoded = stream.decompress(body, limit + 1)
    except zlib.error as error:
        raise invalid(f"the gzip body cannot be decoded: {error}") from None
    if len(decoded) > limit:
        raise too_large(limit, "the decoded body")
    _check_end("gzip", stream.eof, bool(stream.unused_data))
    return decoded


def _decode_zstd(body: bytes, limit: int) -> bytes:
    stream = _ZSTD.decompressobj()
    pieces: list[bytes] = []
    total, consumed = 0, _after_skippable(body, 0)
    while consumed < len(body) and not stream.eof:
        try:
            pieces.append(stream.decompress(body[consumed : consumed + _ZSTD_SLICE]))
        except zstandard.ZstdError as error:
            raise invalid(f"the zstd body cannot be decoded: {error}") from None
        consumed += _ZSTD_SLICE
        total += len(pieces[-1])
        if total > limit:
            raise too_large(limit, "the decoded body")
    end = min(consumed, len(body)) - len(stream.unused_data)
    _check_end("zstd", stream.eof, _after_skippable(body, end) < len(body))
    return b"".join(pieces)


def _after_skippable(body: bytes, place: int) -> int:
    """Give the place behind the skippable frames that begin at `place` (RFC 8878, section 3.1.2)."""
    while body[place + 1 : place + 4] == b"\x2a\x4d\x18" and body[place] & 0xF0 == 0x50:
        place += 8 + int.from_bytes(body[place + 4 : place + 8], "little")
    return place


def _check_end(coding: str, complete: bool, followed: bool) -> None:
    """Refuse a stream that stops early, or that does not reach to the end of the body."""
    if not complete:
        raise invalid(f"the {coding} body is cut short")
    if followed:
        raise invalid(f"bytes follow the end of the {coding} stream; send one stream and nothing after it")


_DECODERS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _decode_gzip,
    "x-gzip": _decode_gzip,
    "zstd": _decode_zstd,
}
