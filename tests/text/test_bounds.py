"""Long texts are read in part, never more than needed, and counted honestly."""

from __future__ import annotations

import base64
import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import vela_jax.text.bounds as bounds
from tests.text.designs import SpyTokenizer, spy_of, tokenizer_of
from vela_jax.text.bounds import BoundedReader, Reading, reach
from vela_jax.text.selfcheck import Trust
from vela_jax.text.tokenizer import TextTokenizer

BOUNDED = ("metaspace", "one_word", "byte_level", "compatibility", "newline_merging", "stripping")
CHECKED = (*BOUNDED, "word_piece", "word_level", "unigram")
MIX = "The fox, 今天天气很好。 mail tom@example.org 12.30 €\n\tcafé 한국어 <eos> x+y=z; "


def draw(alphabet: str, length: int) -> str:
    return "".join(random.Random(5).choices(alphabet, k=length))


def base64_text(size: int) -> str:
    return base64.b64encode(random.Random(7).randbytes(size)).decode()


@cache
def _checked(design: str) -> tuple[BoundedReader, SpyTokenizer]:
    spy = spy_of(design)
    reader = BoundedReader(spy)
    reader.check()
    return reader, spy


def spied(design: str) -> tuple[BoundedReader, SpyTokenizer]:
    """Give a reader that has done its check, and the tokenizer that remembers what it is shown from now on."""
    reader, spy = _checked(design)
    spy.seen.clear()
    return reader, spy


def reader_of(design: str) -> BoundedReader:
    return spied(design)[0]


def assert_first_tokens(tokenizer: TextTokenizer, text: str, reading: Reading) -> None:
    whole = tokenizer.encode(text)
    np.testing.assert_array_equal(reading.ids, whole.ids[: reading.count])
    np.testing.assert_array_equal(reading.offsets, whole.offsets[: reading.count])


def test_reach() -> None:
    assert (reach(-5), reach(0), reach(1), reach(512)) == (1030, 1030, 1030, 4096)


@pytest.mark.parametrize("length", [0, 1, 1030])
def test_a_text_within_reach_is_read_whole_without_a_check(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "check_tokenizer", None)
    reading = BoundedReader(tokenizer_of("metaspace")).read("a" * length, 1)
    assert (reading.complete, reading.end) == (True, length)


@pytest.mark.parametrize("design", CHECKED)
def test_a_long_mixed_text_is_read_in_part(design: str) -> None:
    reader, spy = spied(design)
    text = MIX * 3000
    reading = reader.read(text, 100)
    assert not reading.complete
    assert reading.count >= 100
    assert reading.end <= 4 * reach(100)
    assert sum(spy.seen) <= 8 * reach(100)
    assert_first_tokens(tokenizer_of(design), text[:20_000], reading)


def test_a_tokenizer_that_looks_ahead_is_always_read_whole() -> None:
    reader, spy = spied("look_ahead")
    text = MIX * 300
    reading = reader.read(text, 1)
    assert reading.complete
    assert spy.seen == [len(text)]
    assert_first_tokens(tokenizer_of("look_ahead"), text, reading)


@pytest.mark.parametrize("design", CHECKED)
def test_few_tokens_in_many_characters(design: str) -> None:
    text = ("word" + " " * 3000) * 40 + "end"
    tokenizer = tokenizer_of(design)
    need = tokenizer.encode(text).count + 1
    reading = reader_of(design).read(text, need)
    assert (reading.complete, reading.count, reading.end) == (True, need - 1, len(text))


@pytest.mark.parametrize("design", ["metaspace", "byte_level", "word_piece"])
def test_every_need_up_to_all_of_them(design: str) -> None:
    tokenizer = tokenizer_of(design)
    reader = reader_of(design)
    for text in (MIX * 40, draw("ab一丁", 3000), "e\u0301\u0323" * 700 + MIX * 20, "\u1112\u1161\u11ab" * 900):
        whole = tokenizer.encode(text)
        for need in range(1, whole.count + 2, 149):
            reading = reader.read(text, need)
            assert reading.complete or reading.count >= need
            np.testing.assert_array_equal(reading.ids, whole.ids[: reading.count])


@pytest.mark.parametrize(
    "design", ["metaspace", "one_word", "byte_level", "compatibility", "newline_merging", "stripping"]
)
@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "あ" * 300_000,
        base64_text(786_432),
        draw("0123456789abcdef", 400_000),
        draw("的一是不了人我在有他这中大来上国", 300_000),
        "ab" * 400_000,
    ],
    ids=["a", "kana", "base64", "hex", "chinese", "ab"],
)
def test_unbroken_runs_are_read_in_part(design: str, text: str) -> None:
    reader, spy = spied(design)
    reading = reader.read(text, 512)
    assert not reading.complete
    assert reading.count >= 512
    assert reading.end <= 4 * reach(512) + 4096
    assert sum(spy.seen) <= 8 * reach(512) + 4096
    assert reader.surely_over(text, 512)
    assert_first_tokens(tokenizer_of(design), text[:20_000], reading)


@pytest.mark.parametrize("design", ["word_piece", "word_level"])
def test_a_run_of_a_tokenizer_that_folds_is_few_tokens(design: str) -> None:
    reader, spy = spied(design)
    reading = reader.read("a" * 1_000_000, 512)
    assert (reading.complete, reading.count) == (True, 1)
    assert spy.seen == [1_000_000]


@pytest.mark.parametrize("filler", [" ", "\n", " \n", "\t"])
@pytest.mark.parametrize("design", ["byte_level", "newline_merging", "stripping"])
def test_a_far_end_of_white_space_changes_no_token(design: str, filler: str) -> None:
    text = f"word one\n{filler * 9000}"[:9000] + "\n[MASK] end"
    tokenizer = tokenizer_of(design)
    reader = reader_of(design)
    for need in (1, 5, 400):
        assert_first_tokens(tokenizer, text, reader.read(text, need))


def test_marks_that_reorder_change_no_token() -> None:
    for design in ("byte_level", "compatibility"):
        tokenizer = tokenizer_of(design)
        reader = reader_of(design)
        for base, mark, last in (("か", "\u0301", "\u3099"), ("ｶ", "\u0301", "ﾞ"), ("a", "\u0301", "\u0323")):
            text = "one two " + base + mark * 2000 + last + " three four" * 50
            for need in (1, 3):
                assert_first_tokens(tokenizer, text, reader.read(text, need))


def test_boundaries_are_preferred_then_pieces_then_far_boundaries() -> None:
    start = reach(1)
    reader, spy = spied("metaspace")
    reader.read("a" * (start + 10) + " " + "b" * 9000, 1)
    assert spy.seen[0] == start + 10
    spy.seen.clear()
    reader.read("a" * (start + 5000) + " " + "b" * 9000, 1)
    assert spy.seen[0] == start
    reader, spy = spied("word_piece")
    reader.read("word " * 100 + "a" * (start + 5000) + " " + "b" * 9000, 1)
    assert spy.seen == [500 + start + 5000]


def test_after_a_cut_that_keeps_too_little_the_next_is_twice_as_far() -> None:
    reader, spy = spied("word_piece")
    text = "a" + " " * 1500 + "b" + " c" * 9000
    reading = reader.read(text, 4)
    assert spy.seen == [reach(4), 2 * reach(4)]
    assert not reading.complete


@pytest.mark.parametrize("design", BOUNDED)
def test_surely_over_is_length_beyond_the_most_that_tokens_cover(design: str) -> None:
    reader, spy = spied(design)
    bound = reader.characters_per_token
    assert bound is not None
    for limit in (1, 7, 512):
        assert not reader.surely_over("a" * (limit * bound), limit)
        assert reader.surely_over("a" * (limit * bound + 1), limit)
    assert not reader.surely_over("", 0)
    assert reader.surely_over("a", 0)
    assert reader.surely_over("a", -3)
    assert spy.seen == []


@pytest.mark.parametrize("design", ["word_piece", "word_level", "unigram"])
def test_nothing_is_surely_over_for_a_tokenizer_that_folds(design: str) -> None:
    reader = reader_of(design)
    assert reader.characters_per_token is None
    assert not reader.surely_over(" " * 10_000_000, 1)


def test_a_phrase_repeated_beyond_a_long_limit() -> None:
    phrase = "+ 7 = + 7 ="
    tokenizer = tokenizer_of("one_word")
    count = tokenizer.encode(phrase).count
    reading = reader_of("one_word").read(phrase * 30_000, 32_767)
    assert not reading.complete
    assert 32_767 <= reading.count < 30_000 * count


def test_the_check_runs_once_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int | None] = []

    def check(_: TextTokenizer, bound: int | None) -> Trust:
        calls.append(bound)
        return Trust()

    monkeypatch.setattr(bounds, "check_tokenizer", check)
    reader = BoundedReader(tokenizer_of("metaspace"))
    with ThreadPoolExecutor(8) as pool:
        readings = list(pool.map(lambda _: reader.read(MIX * 100, 5), range(16)))
    assert calls == [reader.characters_per_token]
    assert all(reading.complete for reading in readings)


def test_threads_read_the_same() -> None:
    reader = reader_of("byte_level")
    with ThreadPoolExecutor(8) as pool:
        readings = list(pool.map(lambda _: reader.read(MIX * 500, 64), range(16)))
    assert len({reading.ids.tobytes() for reading in readings}) == 1
