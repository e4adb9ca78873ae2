from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vela_jax.contract import InputRefused
from vela_jax.systemone.image_files import MAX_IMAGE_BYTES, read_image


def written(kind: str, size: tuple[int, int] = (31, 17), frames: int = 1, **options: object) -> bytes:
    """The bytes of a file, of several frames if wanted."""
    stream = io.BytesIO()
    images = [Image.new("RGB", size, (index * 9, 0, 0)) for index in range(frames)]
    more = {"save_all": True, "append_images": images[1:]} if frames > 1 else {}
    images[0].save(stream, kind, **more, **options)
    return stream.getvalue()


FILES = {
    "png": written("PNG"),
    "jpeg": written("JPEG"),
    "progressive": written("JPEG", progressive=True),
    "webp": written("WEBP"),
    "lossless": written("WEBP", lossless=True),
    "extended": written("WEBP", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"),
}


@pytest.mark.parametrize("name", FILES)
def test_sides_are_those_of_the_file(name: str) -> None:
    image = read_image(FILES[name], "here")
    assert (image.width, image.height, image.data) == (31, 17, FILES[name])


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_animations_are_refused(kind: str) -> None:
    with pytest.raises(InputRefused, match="here: animated"):
        read_image(written(kind, frames=3), "here")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_files_that_are_cut_short_are_refused(name: str, share: float) -> None:
    with pytest.raises(InputRefused, match="here: "):
        read_image(FILES[name][: int(share * len(FILES[name]))], "here")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no PNG, JPEG or WebP"),
        (b"GIF89a" + bytes(100), "no PNG, JPEG or WebP"),
        (written("PNG", (4001, 4000)), "pixels"),
        (written("PNG", (2010, 10)), "aspect ratio"),
        (bytes(MAX_IMAGE_BYTES + 1), "at most 16777216 bytes"),
    ],
)
def test_bounds(data: bytes, says: str) -> None:
    with pytest.raises(InputRefused, match=says):
        read_image(data, "here")


def test_the_bounds_themselves_are_allowed() -> None:
    assert read_image(written("PNG", (4000, 4000)), "here").width == 4000
    assert read_image(written("PNG", (2000, 10)), "here").width == 2000


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(FILES)), st.lists(st.tuples(st.integers(0, 300), st.binary(min_size=1, max_size=4))))
def test_damaged_files_are_read_or_refused(name: str, damages: list[tuple[int, bytes]]) -> None:
    data = bytearray(FILES[name])
    for place, piece in damages:
        data[place : place + len(piece)] = piece
    with suppress(InputRefused):
        image = read_image(bytes(data), "here")
        assert image.width > 0
        assert image.height > 0
