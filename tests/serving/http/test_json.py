from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.errors import ErrorCode, RequestFailed
from serving.http.json import MAX_DEPTH, decode, encode


def refusal(body: bytes) -> str:
    """The message with which a body is refused."""
    with pytest.raises(RequestFailed) as caught:
        decode(body)
    assert (caught.value.status, caught.value.code) == (400, ErrorCode.INVALID_REQUEST)
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b" {} \n", {}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"b":1,"a":[1.0,true,null]}', {"b": 1, "a": [1.0, True, None]}),
        (rb'"\ud83d\ude00"', "😀"),
        ('"é😀"'.encode(), "é😀"),
        (rb'"\\ud800"', "\\ud800"),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_what_json_says_is_read(body: bytes, value: object) -> None:
    assert decode(body) == value


def test_kinds_of_numbers_are_kept() -> None:
    read = decode(b'{"int":1,"float":1.0,"bool":true}')
    assert [type(value) for value in read.values()] == [int, float, bool]


def test_order_of_members_is_kept() -> None:
    assert list(decode(b'{"z":1,"a":1,"m":1}')) == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"   ", "not JSON"),
        (b"{", "truncated"),
        (b"{} x", "trailing"),
        (b'{"a":1,}', "trailing comma"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"[NaN]", "not JSON"),
        (b"Infinity", "not JSON"),
        (b"-Infinity", "not JSON"),
        (b"1e999", "out of range"),
        (b"9" * 5000, "out of range"),
        (b"[01]", "invalid number"),
        (b"'a'", "not JSON"),
        (b"\xff", "not JSON"),
        (b'"\xff"', "UTF-8"),
        (b'"\xc0\x80"', "UTF-8"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        (b'{"\xed\xa0\x80":1}', "UTF-8"),
        (b'"a\nb"', "not JSON"),
        (rb'"\ud800"', "surrogate"),
        (rb'"\udc00"', "surrogate"),
        (rb'"\uD800x"', "surrogate"),
        (rb'"\ud800\u0041"', "surrogate"),
        (rb'{"\ud800":1}', "surrogate"),
        (rb'{"a":{"b":["\udfff"]}}', "surrogate"),
    ],
)
def test_anything_else_is_refused_by_name(body: bytes, words: str) -> None:
    assert words in refusal(body)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_nesting_is_bounded_wherever_the_parser_gives_up(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    decode(opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 990, 100_000):
        assert "nested too deeply" in refusal(opening * depth + b"1" + closing * depth)


def test_many_arrays_side_by_side_are_not_deep() -> None:
    assert len(decode(b"[" + b",".join([b"[[]]"] * 1000) + b"]")) == 1000


def test_brackets_in_strings_are_not_deep() -> None:
    assert decode(b'"' + b"[" * 5000 + b'"') == "[" * 5000


def strictly(body: bytes) -> Any:
    """What the standard library makes of a body, with its leniencies taken away."""

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    value = json.loads(body.decode("utf-8"), parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


WORDS = rb'{ } [ ] , : " \ \u d800 dc00 0041 a 1 - . e5 true null NaN'.split()
FRAGMENTS = [*WORDS, b" ", b"\n", b"\xed\xa0\x80", b"\xc3\xa9", b"\xff", b"\xef\xbb\xbf"]


@settings(deadline=None, max_examples=400)
@given(st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(FRAGMENTS), max_size=14).map(b"".join)))
def test_reads_what_the_standard_library_reads(body: bytes) -> None:
    try:
        expected = strictly(body)
    except (ValueError, RecursionError):
        refusal(body)
    else:
        assert repr(decode(body)) == repr(expected)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=150)
@given(values)
def test_what_is_written_reads_back(value: Any) -> None:
    assert decode(encode(value)) == value


def test_writes_compact_text_that_is_not_escaped() -> None:
    assert encode({"a": [1, "é😀"], "b": None}) == '{"a":[1,"é😀"],"b":null}'.encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "place", [lambda n: n, lambda n: [1.0, n], lambda n: {"a": {"b": [n, "x"]}}, lambda n: ["x", (n,)]]
)
def test_a_number_that_is_not_finite_is_an_internal_error(number: float, place: Any) -> None:
    with pytest.raises(RequestFailed) as caught:
        encode({"revision": None, "value": place(number)})
    assert (caught.value.status, caught.value.code) == (500, ErrorCode.INTERNAL_ERROR)


@pytest.mark.parametrize("answer", [[1e308, 1e308], [1.0, "x"], [1.0, None], [1.0, [2.0]], [], "null"])
def test_nulls_and_large_sums_are_no_fault(answer: Any) -> None:
    assert decode(encode({"revision": None, "value": answer}))["value"] == answer
