from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.errors import ErrorCode, RequestFailed
from serving.http.codings import MAX_ZSTD_WINDOW, decode_content

LIMIT = 5000
TEXT = b'{"input":"' + b"sort a list " * 100 + b'"}'
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "zstd": zstandard.compress,
}


def status_of(body: bytes, *headers: bytes, limit: int = LIMIT) -> tuple[int, str]:
    """Status and message with which a body is refused."""
    with pytest.raises(RequestFailed) as caught:
        decode_content(body, headers, limit)
    code = ErrorCode.REQUEST_TOO_LARGE if caught.value.status == 413 else ErrorCode.INVALID_REQUEST
    assert caught.value.code == code
    return caught.value.status, caught.value.message


def streamed_zstd(body: bytes, window_log: int) -> bytes:
    """One frame that states its window and not its size."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=window_log)
    encoder = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return encoder.compress(body) + encoder.flush()


@pytest.mark.parametrize("headers", [(), (b"",), (b"identity",), (b"Identity",), (b" , ",)])
def test_no_coding_leaves_the_body_as_it_is(headers: tuple[bytes, ...]) -> None:
    assert decode_content(TEXT, headers, LIMIT) is TEXT


@pytest.mark.parametrize("name", ["gzip", "x-gzip", "zstd", "GZip", "X-GZIP", "ZSTD", " zstd ", "identity, gzip"])
def test_one_coding_is_undone(name: str) -> None:
    encode = zstandard.compress if "zstd" in name.lower() else gzip.compress
    assert decode_content(encode(TEXT), [name.encode()], LIMIT) == TEXT


@pytest.mark.parametrize(
    "headers",
    [(b"br",), (b"deflate",), (b"gzip, zstd",), (b"gzip,gzip",), (b"zstd", b"zstd"), (b"gzip", b"br"), (b"\xff",)],
)
def test_unknown_and_several_codings_are_unsupported(headers: tuple[bytes, ...]) -> None:
    assert status_of(gzip.compress(TEXT), *headers)[0] == 415


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_holds_for_decoded_bytes_to_the_byte(coding: str, over: int) -> None:
    body = ENCODERS[coding](b" " * (LIMIT + over))
    if over:
        assert status_of(body, coding.encode()) == (
            413,
            f"the decoded body is larger than {LIMIT} bytes (max_request_bytes)",
        )
    else:
        assert decode_content(body, [coding.encode()], LIMIT) == b" " * LIMIT


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("kept", [0, 1, 5, 11, -1, -4, -9])
def test_a_stream_cut_short_is_malformed(coding: str, kept: int) -> None:
    status, message = status_of(ENCODERS[coding](TEXT)[:kept], coding.encode())
    assert status == 400
    assert coding.removeprefix("x-") in message


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("trailer", [b"x", b"\0", b"{}", b" " * 600])
def test_bytes_after_the_stream_are_malformed(coding: str, trailer: bytes) -> None:
    assert status_of(ENCODERS[coding](TEXT) + trailer, coding.encode())[0] == 400


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_second_stream_is_malformed(coding: str) -> None:
    assert status_of(ENCODERS[coding](TEXT) * 2, coding.encode())[0] == 400


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("body", [b"{}", TEXT, b"\x28\xb5\x2f\xfd", b"\x1f\x8b", os.urandom(300)])
def test_a_body_that_is_not_encoded_is_malformed(coding: str, body: bytes) -> None:
    assert status_of(body, coding.encode())[0] == 400


def test_a_wrong_checksum_is_malformed() -> None:
    encoded = gzip.compress(TEXT)
    assert status_of(encoded[:-8] + bytes(4) + encoded[-4:], b"gzip")[0] == 400
    framed = zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)
    assert status_of(framed[:-1] + bytes([framed[-1] ^ 1]), b"zstd")[0] == 400


def test_other_containers_of_deflate_are_malformed() -> None:
    assert status_of(zlib.compress(TEXT), b"gzip")[0] == 400


def test_the_window_of_zstd_is_bounded() -> None:
    largest = MAX_ZSTD_WINDOW.bit_length() - 1
    assert decode_content(streamed_zstd(TEXT, largest), [b"zstd"], LIMIT) == TEXT
    status, message = status_of(streamed_zstd(TEXT, largest + 1), b"zstd")
    assert status == 400
    assert "memory" in message


@pytest.mark.parametrize("coding", ENCODERS)
def test_a_bomb_ends_at_the_limit(coding: str) -> None:
    bomb = ENCODERS[coding](bytes(64 * 1024 * 1024))
    assert len(bomb) < 100_000
    assert status_of(bomb, coding.encode())[0] == 413


def test_a_bomb_that_hides_its_size_ends_at_the_limit() -> None:
    assert status_of(streamed_zstd(bytes(64 * 1024 * 1024), 20), b"zstd")[0] == 413


@pytest.mark.parametrize("coding", ENCODERS)
def test_bodies_of_many_slices_are_whole(coding: str) -> None:
    body = os.urandom(300_000)
    assert decode_content(ENCODERS[coding](body), [coding.encode()], len(body)) == body


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=300), st.integers(0, 400), st.integers(0, 255))
def test_damage_is_refused_or_harmless(coding: str, body: bytes, place: int, value: int) -> None:
    encoded = bytearray(ENCODERS[coding](body))
    encoded[place % len(encoded)] = value
    with suppress(RequestFailed):
        assert len(decode_content(bytes(encoded), [coding.encode()], LIMIT)) <= LIMIT


@settings(deadline=None, max_examples=100)
@given(st.sampled_from([b"gzip", b"zstd"]), st.binary(max_size=200))
def test_noise_is_refused(coding: bytes, body: bytes) -> None:
    with pytest.raises(RequestFailed):
        decode_content(body, [coding], LIMIT)


ZSTD = zstandard.compress(b'{"a":1}')
SKIPPABLE = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"


@pytest.mark.parametrize(
    "body", [SKIPPABLE + ZSTD, SKIPPABLE * 3 + ZSTD, ZSTD + SKIPPABLE, SKIPPABLE + ZSTD + SKIPPABLE]
)
def test_frames_to_be_skipped_are_skipped(body: bytes) -> None:
    assert decode_content(body, [b"zstd"], 1000) == b'{"a":1}'


@pytest.mark.parametrize("body", [SKIPPABLE, SKIPPABLE[:6], ZSTD + ZSTD, ZSTD + SKIPPABLE + b"x", b"\x50\x2a\x4d\x18"])
def test_skipped_frames_alone_and_what_follows_them_are_refused(body: bytes) -> None:
    with pytest.raises(RequestFailed) as refused:
        decode_content(body, [b"zstd"], 1000)
    assert refused.value.status == 400
