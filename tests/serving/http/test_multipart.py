from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.errors import ErrorCode, RequestFailed
from serving.http.multipart import MAX_BOUNDARY_BYTES, MAX_PARTS, Form, is_form, read_form

TYPE = b"multipart/form-data; boundary=edge"
JSON = b'{"state":"x"}'


def part(name: str, data: bytes, *headers: str) -> bytes:
    """One part with its headers."""
    lines = [f'Content-Disposition: form-data; name="{name}"', *headers, "", ""]
    return "\r\n".join(lines).encode() + data


def form(*parts: bytes, end: bytes = b"--edge--\r\n") -> bytes:
    """A body of parts."""
    return b"".join(b"--edge\r\n" + each + b"\r\n" for each in parts) + end


def refusal(body: bytes, content_type: bytes = TYPE) -> str:
    with pytest.raises(RequestFailed) as caught:
        read_form(body, content_type)
    assert (caught.value.status, caught.value.code) == (400, ErrorCode.INVALID_REQUEST)
    return caught.value.message


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, False),
        (b"", False),
        (b"application/json", False),
        (b"multipart/mixed; boundary=x", False),
        (b"text/plain; a=multipart/form-data", False),
        (b"multipart/form-data", True),
        (b"Multipart/Form-Data; boundary=x", True),
        (b" multipart/form-data ;boundary=x", True),
    ],
)
def test_only_form_data_is_a_form(content_type: bytes | None, expected: bool) -> None:
    assert is_form(content_type) is expected


def test_the_first_part_is_the_request_and_the_others_keep_their_bytes() -> None:
    image = bytes(range(256)) + b"\r\n--edg\r\n--other\r\n"
    body = form(
        part("request", JSON, "Content-Type: application/json"),
        part("asset-1", image, "content-type: image/png"),
        part("asset-0", b"", "Content-Transfer-Encoding: binary"),
    )
    read = read_form(body, TYPE)
    assert read == Form(JSON, {"asset-1": image, "asset-0": b""})
    assert list(read.parts) == ["asset-1", "asset-0"]


def test_reads_what_a_client_library_writes() -> None:
    files = [
        ("request", (None, JSON, "application/json")),
        ("asset-0", ("asset-0", b"\x89PNG", "image/png")),
        ("é", ("x", b"1", "application/octet-stream")),
    ]
    request = httpx.Request("POST", "http://test/", files=files)
    read = read_form(request.read(), request.headers["content-type"].encode())
    assert read == Form(JSON, {"asset-0": b"\x89PNG", "é": b"1"})


@pytest.mark.parametrize(
    "content_type", [b'multipart/form-data; boundary="edge"', b"multipart/form-data;charset=x; Boundary=edge"]
)
def test_the_boundary_may_be_quoted_and_its_name_of_any_case(content_type: bytes) -> None:
    assert read_form(form(part("request", JSON)), content_type).request == JSON


@pytest.mark.parametrize("end", [b"--edge--", b"--edge--\r\n"])
def test_the_last_line_end_is_optional(end: bytes) -> None:
    assert read_form(form(part("request", JSON), end=end), TYPE).request == JSON


REQUEST = part("request", JSON)
MALFORMED: Sequence[tuple[bytes, str]] = [
    (b"", "closing boundary"),
    (b"{}", "malformed"),
    (b"--edge--\r\n", "first part"),
    (form(REQUEST, end=b""), "closing boundary"),
    (form(REQUEST, end=b"--edge-"), "closing boundary"),
    (form(REQUEST, end=b"--edge"), "closing boundary"),
    (form(REQUEST) + b"more", "closing boundary"),
    (form(REQUEST) + form(REQUEST), "closing boundary"),
    (b"preface\r\n" + form(REQUEST), "malformed"),
    (form(part("asset-0", b"1"), REQUEST), "first part"),
    (form(part("asset-0", b"1")), "first part"),
    (form(part("Request", JSON)), "first part"),
    (form(REQUEST, REQUEST), "named 'request'"),
    (form(REQUEST, part("a", b"1"), part("a", b"2")), "named 'a'"),
    (form(b"\r\n" + JSON), "Content-Disposition"),
    (form(b"Content-Type: application/json\r\n\r\n" + JSON), "Content-Disposition"),
    (form(b"Content-Disposition: form-data\r\n\r\n" + JSON), "Content-Disposition"),
    (form(b'Content-Disposition: form-data; name=""\r\n\r\n' + JSON), "Content-Disposition"),
    (form(b'Content-Disposition: attachment; name="request"\r\n\r\n' + JSON), "Content-Disposition"),
    (form(b'Content-Disposition: form-data; name="\xff"\r\n\r\n' + JSON), "UTF-8"),
    (form(b"no header\r\n\r\n" + JSON), "malformed"),
    (form(part("request", JSON, "Content-Transfer-Encoding: base64")), "Content-Transfer-Encoding"),
    (form(part("request", JSON, "X-Long: " + "a" * 10_000)), "malformed"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), MALFORMED)
def test_any_deviation_is_named(body: bytes, words: str) -> None:
    assert words in refusal(body)


@pytest.mark.parametrize(
    "content_type",
    [
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b'multipart/form-data; boundary=""',
        b"multipart/form-data; boundary=" + b"x" * (MAX_BOUNDARY_BYTES + 1),
    ],
)
def test_a_boundary_is_needed(content_type: bytes) -> None:
    assert "boundary" in refusal(form(REQUEST), content_type)


def test_a_wrong_boundary_is_malformed() -> None:
    refusal(form(REQUEST), b"multipart/form-data; boundary=other")


def test_the_number_of_parts_is_bounded() -> None:
    others = [part(f"a{index}", b"") for index in range(MAX_PARTS - 1)]
    assert len(read_form(form(REQUEST, *others), TYPE).parts) == MAX_PARTS - 1
    assert str(MAX_PARTS) in refusal(form(REQUEST, *others, part("b", b"")))


DISPOSITION = b"Content-Disposition: form-data; name="
PIECES = [b"--edge", b"--", b"\r\n", b"\r", b"\n", DISPOSITION, b'"request"', b'"a"', b": ", b"x", b"{}", b"\0", b"-"]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=16).map(b"".join), st.booleans())
def test_noise_is_refused_or_read(body: bytes, framed: bool) -> None:
    with suppress(RequestFailed):
        assert read_form(form(REQUEST, body) if framed else body, TYPE).request is not None


def test_what_the_parser_warns_of_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    refusal(b"--other\r\n" + form(REQUEST))
    refusal(form(REQUEST) + b"more")
    assert not caplog.records


names = st.text("aé中😀 -_.", min_size=1, max_size=8).filter(str.strip)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(names, st.binary(max_size=80), max_size=4))
def test_parts_come_back_as_they_were_sent(parts: dict[str, bytes]) -> None:
    parts.pop("request", None)
    body = form(REQUEST, *(part(name, data) for name, data in parts.items()))
    if any(b"\r\n--edge" in b"\r\n" + data for data in parts.values()):
        return
    assert read_form(body, TYPE).parts == parts
