"""Texts as ids and offsets, without what a package's file says of truncation, padding and special tokens."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.text.designs import DESIGNS, file_of, tokenizer_of
from vela_jax.text.tokenizer import TextTokenizer, TokenizerError

DATA = Path(__file__).parent / "data"
HANGUL = "\u1112\u1161\u11ab한"
STORED = {
    "metaspace": {
        "": [],
        "Hello, world!": [35, 181, 62, 65, 9, 116, 122, 62, 54, 337],
        "the router  reads\ttwo": [70, 96, 93, 68, 65, 71, 70, 98, 93, 106, 51, 54, 69, 313, 70, 73, 65],
        "<bos> <eos> 中文 🚀\n\t": [2, 93, 1, 93, 532, 488, 477, 534, 454, 439, 93, 544, 463, 458, 432, 314, 313],
        "aaaaaaaaa": [51] * 9,
        "It's 2024-01-31.": [36, 70, 5, 69, 93, 237, 14, 15, 349, 12, 13, 349, 355, 13, 10],
        "café cafe\u0301": [288, 56, 86, 103, 51, 56, 55, 508, 433],
        "東京タワー": [534, 461, 481, 532, 490, 476, 531, 434, 495, 531, 435, 479, 531, 435, 492],
        HANGUL: [529, 436, 450, 529, 437, 465, 529, 438, 475, 541, 453, 460],
    },
    "byte_level": {
        "": [],
        "Hello, world!": [40, 290, 76, 79, 12, 281, 266, 76, 68, 1],
        "the router  reads\ttwo": [415, 419, 441, 261, 221, 331, 65, 68, 83, 198, 84, 87, 79],
        "It's 2024-01-31.": [41, 84, 7, 83, 221, 18, 16, 18, 20, 13, 16, 17, 13, 19, 17, 14],
        "café cafe\u0301": [67, 65, 70, 128, 103, 269, 65, 70, 128, 103],
        "東京タワー": [163, 252, 110, 161, 119, 106, 160, 225, 124, 160, 226, 108, 160, 226, 121],
        HANGUL: [170, 244, 251, 170, 244, 251],
        "<|im_end|>x": [500, 88],
    },
}


@pytest.mark.parametrize("name", STORED)
def test_stored_ids_are_still_given(name: str) -> None:
    tokenizer = TextTokenizer.from_json((DATA / f"{name}.json").read_bytes())
    for text, ids in STORED[name].items():
        assert tokenizer.encode(text).ids.tolist() == ids, text


def test_truncation_and_padding_of_the_file_are_off() -> None:
    described = json.loads((DATA / "metaspace.json").read_text())
    assert described["truncation"]["max_length"] == 7
    assert described["padding"]["strategy"] == {"Fixed": 9}
    tokenizer = TextTokenizer.from_json(json.dumps(described))
    assert tokenizer.encode("a").count == 1
    assert tokenizer.encode("a" * 50).count == 50
    assert tokenizer.frame("a") == [2, 51, 1]


@pytest.mark.parametrize("design", DESIGNS)
def test_short_and_long_texts_are_read_alike(design: str) -> None:
    tokenizer = tokenizer_of(design)
    text = "Write to tom@example.org. 今天 café\n" * 3
    short, long = tokenizer.encode(text), tokenizer.encode(text * 40)
    assert short.ids.dtype == short.offsets.dtype == np.int32
    assert short.offsets.shape == (short.count, 2)
    near = short.count - 6
    np.testing.assert_array_equal(long.ids[:near], short.ids[:near])
    np.testing.assert_array_equal(long.offsets[:near], short.offsets[:near])
    np.testing.assert_array_equal(tokenizer.encode_ids(text * 40), long.ids)
    encoded, words = tokenizer.encode_words(text)
    np.testing.assert_array_equal(encoded.ids, short.ids)
    assert words.shape == (short.count,)


@pytest.mark.parametrize("design", DESIGNS)
def test_an_empty_text_has_no_tokens(design: str) -> None:
    encoded = tokenizer_of(design).encode("")
    assert encoded.ids.shape == (0,)
    assert encoded.offsets.shape == (0, 2)


@pytest.mark.parametrize("design", ["metaspace", "one_word", "byte_level", "compatibility", "word_piece", "unigram"])
@pytest.mark.parametrize(
    "before",
    ["", "i ⭢ mail ", "😀 👩\u200d👧 i ⭢ mail ", "Μετ᾽ ", "x\u00b4 ", "\u037a ", "\ufdfa ", "e\u0301 ", "電話、"],
)
def test_offsets_are_code_points_of_the_text_as_sent(design: str, before: str) -> None:
    text = f"{before}a@b.co,"
    start, end = len(before), len(before) + 6
    offsets = tokenizer_of(design).encode(text).offsets
    inside = offsets[(offsets[:, 0] < end) & (offsets[:, 1] > start)]
    assert text[inside[0, 0] : inside[-1, 1]].strip() == "a@b.co"
    assert offsets.max() == len(text)


def test_literal_special_tokens_are_content() -> None:
    tokenizer = tokenizer_of("metaspace")
    assert tokenizer.encode("<bos>a<eos>").ids.tolist()[::2] == [2, 1]


def test_ids_of_tokens() -> None:
    tokenizer = tokenizer_of("metaspace")
    assert (tokenizer.id_of("<pad>"), tokenizer.id_of("<eos>"), tokenizer.id_of("absent")) == (0, 1, None)
    assert tokenizer.vocab_size > 256
    assert "<mask>" in tokenizer.added_texts()
    assert tokenizer.longest_entry() >= len("<0x00>")


@pytest.mark.parametrize(
    ("design", "composes", "looks_ahead"),
    [
        ("metaspace", False, False),
        ("byte_level", True, False),
        ("compatibility", True, False),
        ("look_ahead", False, True),
    ],
)
def test_what_the_normalizer_does(design: str, composes: bool, looks_ahead: bool) -> None:
    tokenizer = tokenizer_of(design)
    assert (tokenizer.composes, tokenizer.looks_ahead) == (composes, looks_ahead)


def test_a_normalizer_inside_a_sequence_is_found() -> None:
    described = json.loads(file_of("byte_level"))
    described["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFKC"}]}
    assert TextTokenizer.from_json(json.dumps(described)).composes


@pytest.mark.parametrize("data", ["", "[]", "{}", '{"model": {"type": "BPE"}}', b'{"model": 3}', b"\xff"])
def test_what_is_no_tokenizer_is_refused(data: str | bytes) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        TextTokenizer.from_json(data)


def test_random_tokens_are_refused() -> None:
    described = json.loads(file_of("metaspace"))
    described["model"]["dropout"] = 0.1
    with pytest.raises(TokenizerError, match=r"model\.dropout is 0\.1"):
        TextTokenizer.from_json(json.dumps(described))


def test_many_threads_read_the_same() -> None:
    tokenizer = tokenizer_of("byte_level")
    texts = [f"text {number} of many, " * (1 + 40 * (number % 5)) for number in range(40)]
    alone = [tokenizer.encode(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(tokenizer.encode, texts))
    for first, second in zip(alone, together, strict=True):
        np.testing.assert_array_equal(first.ids, second.ids)
        np.testing.assert_array_equal(first.offsets, second.offsets)
