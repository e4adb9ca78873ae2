"""Ids, pieces and text."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tokenizers import Tokenizer, models

from tests.generation.tokenizers import END, byte_fallback, byte_level, byte_level_library
from vela_jax.generation.vocabulary import Vocabulary
from vela_jax.text.tokenizer import TokenizerError


def test_entries() -> None:
    vocabulary = byte_level("<mark>")
    assert (vocabulary.size, vocabulary.max_id, vocabulary.longest_piece) == (258, 257, 7)
    assert (vocabulary.piece(65), vocabulary.piece(258), vocabulary.piece(-1)) == ("A", None, None)
    assert (vocabulary.id_of("<mark>"), vocabulary.id_of("nothing")) == (257, None)
    assert vocabulary.special_ids == {END}


def test_special_tokens_may_be_named() -> None:
    vocabulary = Vocabulary.from_json(byte_level_library("<mark>").to_str().encode(), ["<mark>", "not there"])
    assert vocabulary.special_ids == {END, 257}
    assert vocabulary.pieces([65, END, 257, 999], skip_special=True) == ["A", ""]
    assert vocabulary.pieces([65, END, 257, 999], skip_special=False) == ["A", "<|end|>", "<mark>", ""]


@pytest.mark.parametrize(
    ("ids", "text"), [([226, 156, 133], "✅"), ([226], "\ufffd"), ([65, 999, -3, 66], "AB"), ([], "")]
)
def test_decode(ids: list[int], text: str) -> None:
    assert byte_level().decode(ids) == text


def test_bytes_of_a_fallback_tokenizer() -> None:
    vocabulary = byte_fallback()
    ids = vocabulary.encode("a 漢", add_special_tokens=False).ids
    assert vocabulary.decode(ids) == "a 漢"
    assert vocabulary.decode(ids[:-1]).endswith("\ufffd" * 2)


def test_a_tokenizer_without_a_decoder_joins_by_spaces() -> None:
    vocabulary = Vocabulary(Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a")))
    assert vocabulary.decode([0, 1]) == "a b"


def test_what_is_no_tokenizer() -> None:
    with pytest.raises(TokenizerError, match="not a tokenizer"):
        Vocabulary.from_json("{}")


def test_tokens_drawn_at_random_are_refused() -> None:
    with pytest.raises(TokenizerError, match=r"dropout is 0\.5"):
        Vocabulary.from_json(Tokenizer(models.BPE({"a": 0}, [], dropout=0.5)).to_str())


def test_long_texts_from_many_threads() -> None:
    vocabulary, found = byte_level(), list[Any]()
    text = "漢字 and so on " * 400
    threads = [
        threading.Thread(target=lambda: found.append(vocabulary.encode(text, add_special_tokens=False).ids))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [list(text.encode())] * 4
