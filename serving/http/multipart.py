"""Bodies of the type multipart/form-data (HTTP contract, section 2.4)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from serving.http.errors import invalid

REQUEST_PART: Final = "request"
MAX_PARTS: Final = 1024
MAX_BOUNDARY_BYTES: Final = 70  # RFC 2046, section 5.1.1
_MEDIA_TYPE: Final = b"multipart/form-data"
_SILENT: Final = logging.Logger("multipart", logging.CRITICAL + 1)  # what the parser warns of is answered


@dataclass(frozen=True, slots=True)
class Form:
    """The JSON text of a request, and the other parts of its body by name, in order."""

    request: bytes
    parts: dict[str, bytes]


def is_form(content_type: bytes | None) -> bool:
    """Tell whether a body of this `Content-Type` is multipart/form-data."""
    return content_type is not None and content_type.split(b";", 1)[0].strip().lower() == _MEDIA_TYPE


def read_form(body: bytes, content_type: bytes) -> Form:
    """Take a whole body apart. Raises RequestFailed (400) for any deviation from the form.

    The first part is `request`; every part has a name of its own.
    """
    boundary = _boundary(content_type)
    parts = _Parts()
    parser = MultipartParser(boundary, parts.callbacks())  # type: ignore[arg-type]
    parser.logger = _SILENT
    try:
        parser.write(body)
    except FormParserError as error:
        raise invalid(f"the multipart body is malformed: {error}") from None
    if not parts.complete or not _ends_after_close(body, boundary):
        raise invalid("the multipart body must end with its closing boundary")
    named = parts.named
    if next(iter(named), None) != REQUEST_PART:
        raise invalid(f"the first part of a multipart body must be named {REQUEST_PART!r}")
    request = named.pop(REQUEST_PART)
    return Form(request, named)


def _boundary(content_type: bytes) -> bytes:
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    if not 1 <= len(boundary) <= MAX_BOUNDARY_BYTES:
        raise invalid(f"Content-Type multipart/form-data needs a boundary of 1 to {MAX_BOUNDARY_BYTES} characters")
    return boundary


def _ends_after_close(body: bytes, boundary: bytes) -> bool:
    """Tell whether nothing but a line end follows the closing boundary, which data can never hold."""
    return (b"\r\n" + body).partition(b"\r\n--" + boundary + b"--")[2] in (b"", b"\r\n")


@dataclass(slots=True)
class _Parts:
    """What the parser's callbacks have gathered."""

    named: dict[str, bytes] = field(default_factory=dict)
    complete: bool = False
    _headers: dict[bytes, bytes] = field(default_factory=dict)
    _field: bytes = b""
    _value: bytes = b""
    _name: str = ""
    _data: list[bytes] = field(default_factory=list)

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._add_field,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._add_data,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _begin(self) -> None:
        if len(self.named) == MAX_PARTS:
            raise invalid(f"a multipart body may have at most {MAX_PARTS} parts")
        self._headers, self._data = {}, []

    def _add_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._field.lower()] = self._value
        self._field = self._value = b""

    def _end_headers(self) -> None:
        self._name = _part_name(self._headers)
        if self._name in self.named:
            raise invalid(f"two parts of the multipart body are named {self._name!r}")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._data.append(data[start:end])

    def _end(self) -> None:
        self.named[self._name] = b"".join(self._data)

    def _finish(self) -> None:
        self.complete = True


def _part_name(headers: dict[bytes, bytes]) -> str:
    """Give the name that a part's `Content-Disposition` states."""
    disposition, options = parse_options_header(headers.get(b"content-disposition"))
    if disposition != b"form-data" or not options.get(b"name"):
        raise invalid('every part of a multipart body needs the header Content-Disposition: form-data; name="..."')
    encoding = headers.get(b"content-transfer-encoding", b"binary").strip().lower()
    if encoding not in (b"7bit", b"8bit", b"binary"):
        raise invalid("a part with a Content-Transfer-Encoding cannot be read; send its bytes as they are")
    try:
        return options[b"name"].decode("utf-8")
    except UnicodeDecodeError:
        raise invalid("the name of a part of the multipart body is not UTF-8") from None
