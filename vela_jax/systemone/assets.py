"""Assets of a request: named images and videos that texts refer to (System One semantics, section 7.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from vela_jax.contract import InputRefused, InvalidRequest
from vela_jax.surfaces.requests import Image, Video
from vela_jax.surfaces.shown import kind_of, shown, shown_name
from vela_jax.systemone.data_urls import MAX_VIDEO_BYTES, read_base64
from vela_jax.systemone.image_files import MAX_IMAGE_BYTES, read_image

MAX_REFERENCE_BYTES: Final = 1024
MAX_REFERENCES_BYTES: Final = 65_536
MAX_ASSETS: Final = 256
"""Assets of one request: far more images than any model reads, few enough to look for each in the longest text."""

_MEMBERS: Final = frozenset({"type", "data_base64", "part", "format"})


@dataclass(frozen=True, slots=True)
class Asset:
    """A named image or video; `data` is base64 text or the bytes of a part."""

    reference: str
    kind: Literal["image", "video"]
    data: str | bytes

    def read(self) -> Image | Video:
        """The medium within its bounds. Raises InputRefused."""
        where = f"assets.{shown_name(self.reference)}"
        most = MAX_IMAGE_BYTES if self.kind == "image" else MAX_VIDEO_BYTES
        data = read_base64(self.data, most, where) if isinstance(self.data, str) else self.data
        if self.kind == "image":
            return read_image(data, where)
        if len(data) > most:
            raise InputRefused(f"{where}: more than {most:,} bytes")
        return Video(data)


def read_assets(raw: Any, parts: Mapping[str, bytes], taken: set[str]) -> dict[str, Asset]:
    """The assets by reference; `parts` are those of a multipart body, and `taken` gathers the names of those used.

    `format` is accepted and not looked at: the bytes say it. Raises InvalidRequest for whatever has not the form.
    """
    if not isinstance(raw, dict):
        raise InvalidRequest(f"assets must be an object of assets by reference, got {kind_of(raw)}")
    _check_references(raw)
    return {reference: _read(reference, value, parts, taken) for reference, value in raw.items()}


def check_parts(parts: Mapping[str, bytes], taken: set[str]) -> None:
    """Refuse a multipart body with a part that no asset refers to."""
    left = [name for name in parts if name not in taken]
    if left:
        raise InvalidRequest(f"no asset refers to the parts {shown(left)} of the multipart body")


def _check_references(raw: Mapping[str, Any]) -> None:
    if len(raw) > MAX_ASSETS:
        raise InvalidRequest(f"assets may hold at most {MAX_ASSETS} assets, got {len(raw)}")
    total = 0
    for reference in raw:
        size = len(reference.encode("utf-8"))
        if not 1 <= size <= MAX_REFERENCE_BYTES:
            raise InvalidRequest(f"a reference of assets must have 1 to {MAX_REFERENCE_BYTES} bytes, got {size}")
        total += size
    if total > MAX_REFERENCES_BYTES:
        raise InvalidRequest(f"the references of assets may have {MAX_REFERENCES_BYTES} bytes together, got {total}")


def _read(reference: str, value: Any, parts: Mapping[str, bytes], taken: set[str]) -> Asset:
    where = f"assets.{shown_name(reference)}"
    if not isinstance(value, dict):
        raise InvalidRequest(f"{where} must be an object, got {kind_of(value)}")
    unknown = sorted(name for name in value if name not in _MEMBERS)
    if unknown:
        raise InvalidRequest(f"{where} has unknown members {shown(unknown)}; an asset takes {sorted(_MEMBERS)}")
    kind = value.get("type")
    if kind not in ("image", "video"):
        raise InvalidRequest(f"{where}.type must be 'image' or 'video'")
    data, part = value.get("data_base64"), value.get("part")
    if (data is None) == (part is None):
        raise InvalidRequest(f"{where} needs either data_base64 or part")
    if data is not None:
        if not isinstance(data, str):
            raise InvalidRequest(f"{where}.data_base64 must be a string, got {kind_of(data)}")
        return Asset(reference, kind, data)
    return Asset(reference, kind, _part(part, where, parts, taken))


def _part(name: Any, where: str, parts: Mapping[str, bytes], taken: set[str]) -> bytes:
    if not isinstance(name, str):
        raise InvalidRequest(f"{where}.part must be a string, got {kind_of(name)}")
    if name not in parts:
        raise InvalidRequest(f"{where}.part names {shown_name(name)!r}, which is no part of the body")
    if name in taken:
        raise InvalidRequest(f"{where}.part names {shown_name(name)!r}, which another asset has taken")
    taken.add(name)
    return parts[name]
