"""Placeholders resolved to text."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.generation.tokenizers import byte_fallback, byte_level
from vela_jax.generation.derendering.logprobs import chat_logprobs, completion_logprobs
from vela_jax.generation.derendering.requests import Logprobs
from vela_jax.generation.refusals import read_record
from vela_jax.generation.token_texts import TokenTexts, advance_context
from vela_jax.generation.vocabulary import Vocabulary


@cache
def _bytes() -> Vocabulary:
    return byte_level()


def _entries(*entries: Any) -> Logprobs:
    """Ids stand for placeholders."""
    content = [{"token": f"token_id:{each}", "logprob": -0.5} if isinstance(each, int) else each for each in entries]
    return read_record({"content": content}, Logprobs)


@pytest.mark.parametrize(
    ("context", "text"),
    [([], ""), ([156], ""), ([226, 156], "✅"), ([97, 226, 156], "✅"), ([97, 98, 226, 156], "✅"), ([65], "")],
)
def test_the_last_byte_of_a_character_is_the_whole_of_it(context: list[int], text: str) -> None:
    assert TokenTexts(_bytes(), context).text(133) == text


def test_tokens_of_a_split_character() -> None:
    content = chat_logprobs(_entries(97, 226, 156, 133, 98), _bytes())["content"]
    assert [entry["token"] for entry in content] == ["a", "", "", "✅", "b"]
    assert [entry["bytes"] for entry in content] == [[97], [], [], [226, 156, 133], [98]]


def test_alternatives_are_told_by_the_same_context() -> None:
    entry = {"token": "token_id:133", "top_logprobs": [{"token": "token_id:133"}, {"token": "token_id:134"}]}
    (resolved,) = chat_logprobs(_entries(entry), _bytes(), [226, 156])["content"]
    assert resolved == {
        "token": "✅", "logprob": -9999.0, "bytes": [226, 156, 133],
        "top_logprobs": [
            {"token": "✅", "logprob": -9999.0, "bytes": [226, 156, 133]},
            {"token": "✆", "logprob": -9999.0, "bytes": [226, 156, 134]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "token", "octets"),
    [
        ({"token": "token_id:999"}, "", None),
        ({"token": "token_id:-5"}, "", None),
        ({"token": "token_id:x"}, "token_id:x", None),
        ({"token": "token_id:"}, "token_id:", None),
        ({"token": "token_id:²"}, "token_id:²", None),
        ({"token": f"token_id:{'9' * 5000}"}, f"token_id:{'9' * 5000}", None),
        ({"token": "plain", "bytes": [1]}, "plain", [1]),
        ({"token": "token_id:256"}, "<|end|>", list(b"<|end|>")),
        ({"token_id": 65, "rank": 1}, "A", [65]),
        ({}, "", None),
    ],
)
def test_what_an_entry_may_hold(entry: dict[str, Any], token: str, octets: list[int] | None) -> None:
    (resolved,) = chat_logprobs(_entries(entry), _bytes())["content"]
    assert (resolved["token"], resolved["bytes"], resolved["top_logprobs"]) == (token, octets, [])


def test_text_is_no_context() -> None:
    content = chat_logprobs(_entries(226, {"token": "x"}, 156, 133), _bytes())["content"]
    assert [entry["token"] for entry in content] == ["", "x", "", "✅"]


def test_completion_form() -> None:
    first = {"token": "token_id:97", "logprob": -1.0, "top_logprobs": [{"token": "token_id:97", "logprob": -1.0}]}
    twice = {"token": "token_id:98", "top_logprobs": [{"token": "b", "logprob": -1.0}, {"token": "b", "logprob": -2.0}]}
    assert completion_logprobs(_entries(first, twice, 133), _bytes(), [226, 156], 7) == {
        "text_offset": [7, 8, 9],
        "token_logprobs": [-1.0, -9999.0, -0.5],
        "tokens": ["a", "b", ""],
        "top_logprobs": [{"a": -1.0}, {"b": -2.0}, None],
    }


@pytest.mark.parametrize("form", [chat_logprobs, completion_logprobs])
def test_none_stays_none(form: Any) -> None:
    assert form(None, _bytes()) is None


def test_no_content() -> None:
    none = read_record({"content": None}, Logprobs)
    assert chat_logprobs(none, _bytes()) == {"content": None}
    assert completion_logprobs(none, _bytes()) == {
        "text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []
    }  # fmt: skip


def test_byte_fallback() -> None:
    vocabulary = byte_fallback("one")
    ids = vocabulary.encode("one 😀", add_special_tokens=False).ids
    content = chat_logprobs(_entries(*ids), vocabulary)["content"]
    assert "".join(entry["token"] for entry in content) == "one😀"  # the mark of a space alone has no text


def test_context_keeps_the_last_four() -> None:
    assert advance_context([1, 2, 3], [4, 5, 6]) == [3, 4, 5, 6]
    assert advance_context([], []) == []
