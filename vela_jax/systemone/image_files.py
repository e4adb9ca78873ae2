"""Image files of requests: their format and sides as the bytes say, whatever the client declared.

Nothing is decoded: the structure of the file is walked, so that a refusal costs no memory. Bounds are those of the
System One semantics, section 7.
"""

from __future__ import annotations

import zlib
from typing import Final

from vela_jax.contract import InputRefused
from vela_jax.surfaces.requests import Image

MAX_IMAGE_BYTES: Final = 16 * 1024 * 1024
MAX_SOURCE_PIXELS: Final = 16_000_000
MAX_ASPECT: Final = 200

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
_JPEG_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD8)})  # markers without a length
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN: Final = 0xDA
_JPEG_END: Final = b"\xff\xd9"


def read_image(data: bytes, where: str) -> Image:
    """Check an image file against the bounds of a source image.

    Raises InputRefused, with `where` in front: not a whole still PNG, JPEG or WebP file, too many bytes or pixels,
    sides too unlike.
    """
    if len(data) > MAX_IMAGE_BYTES:
        raise InputRefused(f"{where}: an image may have at most {MAX_IMAGE_BYTES} bytes, got {len(data)}")
    try:
        width, height = _sides(data)
    except (ValueError, IndexError) as error:
        raise InputRefused(f"{where}: {error}") from None
    if width * height > MAX_SOURCE_PIXELS:
        raise InputRefused(f"{where}: {width}x{height} is more than {MAX_SOURCE_PIXELS} pixels")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise InputRefused(f"{where}: the aspect ratio of {width}x{height} is above {MAX_ASPECT}")
    return Image(data, width, height)


def _sides(data: bytes) -> tuple[int, int]:
    if data.startswith(_PNG):
        sides = _png(data)
    elif data.startswith(_JPEG):
        sides = _jpeg(data)
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        sides = _webp(data)
    else:
        raise ValueError("the bytes are no PNG, JPEG or WebP file")
    if 0 in sides:
        raise ValueError("the image has no pixels")
    return sides


def _png(data: bytes) -> tuple[int, int]:
    """Walk the chunks to the end, each with its checksum (PNG specification, section 5)."""
    sides, place, kind = (0, 0), len(_PNG), b""
    while kind != b"IEND":
        length = int.from_bytes(data[place : place + 4], "big")
        kind, end = data[place + 4 : place + 8], place + 12 + length
        if end > len(data):
            raise ValueError("the PNG file is cut short")
        if zlib.crc32(data[place + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            raise ValueError("the PNG file is corrupt")
        if kind == b"acTL":
            raise ValueError("animated images are not read")
        if kind == b"IHDR":
            sides = (
                int.from_bytes(data[place + 8 : place + 12], "big"),
                int.from_bytes(data[place + 12 : place + 16], "big"),
            )
        place = end
    return sides


def _jpeg(data: bytes) -> tuple[int, int]:
    """Walk the segments up to the first scan (ITU-T T.81, annex B); the file must have an end."""
    sides, place = (0, 0), 2
    while True:
        if data[place] != 0xFF:
            raise ValueError("the JPEG file is corrupt")
        marker = data[place + 1]
        if marker == 0xFF:  # a fill byte
            place += 1
            continue
        if marker == _JPEG_SCAN:
            break
        if marker in _JPEG_ALONE:
            place += 2
            continue
        if marker in _JPEG_FRAMES:
            sides = (
                int.from_bytes(data[place + 7 : place + 9], "big"),
                int.from_bytes(data[place + 5 : place + 7], "big"),
            )
        place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
        if place + 1 >= len(data):
            raise ValueError("the JPEG file is cut short")
    if data.rfind(_JPEG_END) < place:
        raise ValueError("the JPEG file is cut short")
    return sides


def _webp(data: bytes) -> tuple[int, int]:
    """Read the first chunk of the RIFF file (WebP container specification)."""
    if int.from_bytes(data[4:8], "little") + 8 > len(data):
        raise ValueError("the WebP file is cut short")
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise ValueError("the WebP file is cut short")
    if kind == b"VP8X":
        if body[0] & 0x02:
            raise ValueError("animated images are not read")
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8L" and body[0] == 0x2F:
        packed = int.from_bytes(body[1:5], "little")
        return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    raise ValueError("the WebP file is corrupt")
