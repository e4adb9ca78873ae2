"""Images and videos of a request as data URLs (System One semantics, sections 7.1 and 7.2)."""

from __future__ import annotations

import binascii
from collections.abc import Collection
from typing import Any, Final

from vela_jax.contract import InputRefused
from vela_jax.surfaces.requests import Image, Video
from vela_jax.systemone.image_files import MAX_IMAGE_BYTES, read_image

IMAGE_FORMATS: Final = ("png", "jpeg", "jpg", "webp")
VIDEO_FORMATS: Final = ("mp4", "webm", "quicktime", "x-matroska")
MAX_VIDEO_BYTES: Final = 32_000_000


def read_image_url(url: Any, where: str) -> Image:
    """The image of a data URL. Raises InputRefused with `where` in front."""
    header, encoded = _split(url, where)
    if not (header.startswith("data:image/") and header.endswith(";base64")):
        raise InputRefused(f"{where}: the data URL must begin data:image/<format>;base64")
    _check_format(header[len("data:image/") : -len(";base64")], IMAGE_FORMATS, where)
    return read_image(read_base64(encoded, MAX_IMAGE_BYTES, where), where)


def read_video_url(url: Any, where: str) -> Video:
    """The video of a data URL, not opened. Raises InputRefused with `where` in front."""
    header, encoded = _split(url, where)
    if not (header.startswith("data:video/") and header.endswith(";base64")):
        raise InputRefused(f"{where}: the data URL must begin data:video/<format>;base64")
    _check_format(header[len("data:video/") :].partition(";")[0], VIDEO_FORMATS, where)
    return Video(read_base64(encoded, MAX_VIDEO_BYTES, where))


def read_base64(encoded: str, most: int, where: str) -> bytes:
    """Strict base64 of at most `most` bytes; what is longer is not decoded. Raises InputRefused."""
    if len(encoded) > 4 * -(-most // 3):
        raise InputRefused(f"{where}: more than {most:,} bytes")
    try:
        data = binascii.a2b_base64(encoded, strict_mode=True)
    except (ValueError, binascii.Error):
        raise InputRefused(f"{where}: the data are not valid base64") from None
    if len(data) > most:
        raise InputRefused(f"{where}: more than {most:,} bytes")
    return data


def _split(url: Any, where: str) -> tuple[str, str]:
    """Header in lower case, and what follows the first comma."""
    if not isinstance(url, str) or url[:5].lower() != "data:":
        raise InputRefused(f"{where}: a data URL is needed, as in data:image/png;base64,...")
    header, comma, encoded = url.partition(",")
    if not comma:
        raise InputRefused(f"{where}: the data URL has no comma")
    return header.strip().lower(), encoded


def _check_format(found: str, allowed: Collection[str], where: str) -> None:
    if found not in allowed:
        raise InputRefused(f"{where}: the format must be one of {list(allowed)}, got {found[:40]!r}")
