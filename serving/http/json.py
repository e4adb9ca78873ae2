"""Strict JSON in, compact JSON out (HTTP contract, sections 2.1 and 2.2)."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from serving.errors import ErrorCode, RequestFailed
from serving.http.errors import invalid

MAX_DEPTH: Final = 256
"""Arrays and objects within each other that a body may have: more than any schema needs, and few
enough that code which walks a body by recursion never meets the interpreter's own limit."""

_DECODER: Final = msgspec.json.Decoder()
_ENCODER: Final = msgspec.json.Encoder()
_BOM: Final = b"\xef\xbb\xbf"
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(body: bytes) -> Any:
    """Parse a JSON text of UTF-8 bytes. Raises RequestFailed (400).

    Refuses what RFC 8259 does not know (NaN, Infinity, a byte order mark), bad UTF-8 and unpaired surrogates.
    Of members with the same name the last one wins.
    """
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return _parse(body)
    with _uncollected():
        value = _parse(body)
        _check_depth(value)
    return value


def _parse(body: bytes) -> Any:
    try:
        return _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise invalid(f"the body is not JSON: {error}{_hint(body)}") from None
    except RecursionError:
        raise _too_deep() from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector: it would walk millions of fresh containers again and again, and find nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def encode(value: Any) -> bytes:
    """Write compact UTF-8 JSON. Raises RequestFailed (500) for a number that JSON cannot say."""
    encoded = _ENCODER.encode(value)
    # The encoder writes `null` for a non-finite number, so an answer without a null needs no second look.
    if b"null" in encoded and not is_finite(value):
        raise not_finite()
    return encoded


def not_finite() -> RequestFailed:
    """Make the refusal that stands for an answer with a number that JSON cannot say."""
    return RequestFailed(ErrorCode.INTERNAL_ERROR, "the answer holds a number that is not finite")


def _hint(body: bytes) -> str:
    """Say what the parser's text leaves out."""
    if not body:
        return " (the body is empty)"
    if body.startswith(_BOM):
        return " (it begins with a byte order mark)"
    if _SURROGATE_ESCAPE.search(body):
        return " (an escape \\uD800 to \\uDFFF must be one half of a surrogate pair)"
    return ""


def _check_depth(value: Any) -> None:
    layer = [value]
    for _ in range(MAX_DEPTH):
        layer = [child for node in layer for child in _children(node) if isinstance(child, (dict, list))]
        if not layer:
            return
    raise _too_deep()


def _too_deep() -> RequestFailed:
    return invalid(f"the body is nested too deeply: at most {MAX_DEPTH} arrays and objects may lie within each other")


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, (list, tuple)) else ()


def is_finite(value: Any) -> bool:
    """Tell whether every number is finite; a list of floats costs one sum."""
    nodes = [msgspec.to_builtins(value)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, float):
            if not math.isfinite(node):
                return False
        elif not _sums_to_finite(node):
            nodes.extend(_children(node))
    return True


def _sums_to_finite(node: Any) -> bool:
    """Tell whether `node` is a row of numbers only, with a finite sum: then all of them are finite."""
    if not isinstance(node, (list, tuple)) or not node or not isinstance(node[0], float):
        return False
    try:
        return math.isfinite(sum(node))
    except TypeError:
        return False
