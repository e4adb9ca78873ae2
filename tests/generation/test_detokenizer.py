"""The spec's vectors of incremental detokenization, and the same text for every way of cutting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generation.tokenizers import END, byte_fallback, byte_level
from vela_jax.generation.detokenizer import MAX_HELD, IncrementalDetokenizer, Window
from vela_jax.generation.vocabulary import Vocabulary


class Step(NamedTuple):
    ids: list[int]
    text: str
    window: Window


def _state(pieces: str | Sequence[str], prefix: int, read: int) -> Window:
    return Window(tuple(pieces), prefix, read)


VECTORS = [
    pytest.param(
        [
            Step([72], "H", _state("H", 0, 1)),
            Step([105], "i", _state("i", 0, 1)),
            Step([END], "", _state("i", 0, 1)),
            Step([33], "!", _state("!", 0, 1)),
        ],
        id="letters",
    ),
    pytest.param(
        [
            Step([226], "", _state("â", 0, 0)),
            Step([156], "", _state("âľ", 0, 0)),
            Step([133], "✅", _state("âľħ", 0, 3)),
            Step([97], "a", _state("a", 0, 1)),
        ],
        id="split character",
    ),
    pytest.param(
        [
            Step([240, 159], "", _state("ðŁ", 0, 0)),
            Step([152], "", _state("ðŁĺ", 0, 0)),
            Step([128, 33], "😀!", _state("!", 0, 1)),
        ],
        id="chunks",
    ),
    pytest.param(
        [
            Step([255], "", _state("ÿ", 0, 0)),
            Step([65], "\ufffdA", _state("ÿA", 0, 2)),
            Step([66], "B", _state("B", 0, 1)),
        ],
        id="bad byte",
    ),
    pytest.param(
        [
            Step([9999], "", _state([""], 0, 0)),
            Step([-5], "", _state(["", ""], 0, 0)),
            Step([65], "A", _state(["", "", "A"], 0, 3)),
            Step([66], "B", _state("B", 0, 1)),
        ],
        id="ids outside the vocabulary",
    ),
]


@cache
def _bytes() -> Vocabulary:
    return byte_level()


@cache
def _fallback() -> Vocabulary:
    return byte_fallback("one", "two", "end")


def _ids(text: str) -> list[int]:
    return list(text.encode())


@pytest.mark.parametrize("steps", VECTORS)
def test_vectors(steps: list[Step]) -> None:
    window = Window()
    for step in steps:
        detokenizer = IncrementalDetokenizer(_bytes(), window=window)
        assert (detokenizer.push(step.ids), detokenizer.window) == (step.text, step.window)
        window = detokenizer.window


def test_special_tokens_are_text_when_they_are_not_skipped() -> None:
    detokenizer = IncrementalDetokenizer(_bytes(), skip_special_tokens=False)
    assert [detokenizer.push([each]) for each in (65, END, 66)] == ["A", "<|end|>", "B"]


def test_seed_reads_the_end_of_the_prompt() -> None:
    detokenizer = IncrementalDetokenizer(_bytes(), seed_ids=_ids("prompt: xyz"))
    seeded = _state(["p", "t", ":", "Ġ", "x", "y", "z"], 2, 7)
    assert detokenizer.window == seeded
    assert (detokenizer.push([]), detokenizer.window) == ("", seeded)
    assert (detokenizer.push([33]), detokenizer.window) == ("!", _state("!", 0, 1))


@pytest.mark.parametrize(
    ("prompt", "skip", "window"),
    [
        (_ids("ab"), True, _state("ab", 0, 2)),
        ([END, *_ids("ab")], True, _state("ab", 0, 2)),
        ([END, *_ids("ab")], False, _state(["<|end|>", "a", "b"], 0, 3)),
        ([], True, Window()),
    ],
)
def test_seeds(prompt: list[int], skip: bool, window: Window) -> None:
    assert IncrementalDetokenizer(_bytes(), skip_special_tokens=skip, seed_ids=prompt).window == window


def test_prompt_that_ends_inside_a_character_swallows_it() -> None:
    detokenizer = IncrementalDetokenizer(_bytes(), seed_ids=[*_ids("ok"), 226, 156])
    assert (detokenizer.push([133]), detokenizer.window) == ("", _state("okâľħ", 0, 4))


@pytest.mark.parametrize("offsets", [(-1, 0), (0, -1), (2, 1), (0, 4), (4, 4)])
def test_window_refuses_offsets_that_cannot_be(offsets: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="prefix_offset"):
        Window(("a", "b", "c"), *offsets)


def test_flush_gives_what_is_whole() -> None:
    vocabulary = byte_level("tail\ufffd", "é")
    detokenizer = IncrementalDetokenizer(vocabulary)
    assert detokenizer.push([97, vocabulary.id_of("tail\ufffd") or 0]) == "a"
    assert detokenizer.flush() == "tail"
    unfinished = IncrementalDetokenizer(vocabulary, seed_ids=[97])
    assert (unfinished.push([226, 156]), unfinished.flush()) == ("", "")


@pytest.mark.parametrize("stray", [255, 9999])
def test_bytes_without_an_end_stay_bounded(stray: int) -> None:
    detokenizer = IncrementalDetokenizer(_bytes())
    text = detokenizer.push([stray] * (MAX_HELD + 1))
    assert text == ("\ufffd" * (MAX_HELD + 1) if stray == 255 else "")
    assert len(detokenizer.window.pieces) < 8
    assert detokenizer.push([65]) == "A"


def test_window_of_plain_text_stays_small() -> None:
    detokenizer = IncrementalDetokenizer(_bytes())
    for byte in b"The quick brown fox. " * 20:
        detokenizer.push([byte])
        assert len(detokenizer.window.pieces) <= 32


@settings(deadline=None, max_examples=60)
@given(
    text=st.text(st.sampled_from("ab 🚀👍🏽漢字é\u0301ß\n'x"), max_size=24),
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    fallback=st.booleans(),
)
def test_every_cut_gives_the_text(text: str, cuts: list[int], fallback: bool) -> None:
    vocabulary = _fallback() if fallback else _bytes()
    ids = vocabulary.encode(text, add_special_tokens=False).ids
    detokenizer = IncrementalDetokenizer(vocabulary)
    parts: list[str] = []
    start = 0
    while start < len(ids):
        size = cuts[len(parts) % len(cuts)]
        parts.append(detokenizer.push(ids[start : start + size]))
        start += size
    assert "".join(parts) == vocabulary.decode(ids) == text


@settings(deadline=None, max_examples=60)
@given(
    ids=st.lists(st.one_of(st.integers(-2, 262), st.sampled_from([2**31, 2**32 + 5, 2**63])), max_size=30),
    at=st.integers(0, 30),
    skip=st.booleans(),
)
def test_any_ids_give_one_text_however_cut(ids: list[int], at: int, skip: bool) -> None:
    for vocabulary in (_bytes(), _fallback()):
        whole = IncrementalDetokenizer(vocabulary, skip_special_tokens=skip)
        first = IncrementalDetokenizer(vocabulary, skip_special_tokens=skip)
        head = first.push(ids[:at])
        rest = IncrementalDetokenizer(vocabulary, skip_special_tokens=skip, window=first.window)
        assert whole.push(ids) == head + rest.push(ids[at:])
        assert whole.window == rest.window
