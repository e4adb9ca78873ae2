"""What each design of tokenizer is trusted with."""

from __future__ import annotations

import json
from functools import cache

import pytest
from tokenizers import Encoding, Regex, Tokenizer, normalizers

from tests.text.designs import file_of, tokenizer_of
from vela_jax.text.cuts import CutClass
from vela_jax.text.probes import FOLDS, long_texts, probe_texts, run_texts, whitespace_texts
from vela_jax.text.selfcheck import Trust, characters_per_token, check_tokenizer
from vela_jax.text.tokenizer import TextTokenizer

ALL = frozenset(CutClass)


@cache
def trust_of(tokenizer: TextTokenizer) -> Trust:
    return check_tokenizer(tokenizer, characters_per_token(tokenizer))


def with_normalizer(pattern: str, content: str) -> TextTokenizer:
    """Give a tokenizer whose replacing pattern is only found out by trying."""
    library = Tokenizer.from_str(file_of("byte_level"))
    library.normalizer = normalizers.Replace(Regex(pattern), content)
    return TextTokenizer(library, None)


@pytest.mark.parametrize(
    ("design", "in_run", "is_bounded"),
    [
        ("metaspace", True, True),
        ("one_word", True, True),
        ("byte_level", True, True),
        ("compatibility", True, True),
        ("newline_merging", True, True),
        ("stripping", True, True),
        ("word_piece", False, False),
        ("word_level", False, False),
        ("unigram", False, False),
    ],
)
def test_designs(design: str, in_run: bool, is_bounded: bool) -> None:
    tokenizer = tokenizer_of(design)
    trust = trust_of(tokenizer)
    assert trust.classes == ALL
    assert trust.in_run is in_run
    assert (characters_per_token(tokenizer) is not None) is is_bounded


@pytest.mark.parametrize(
    ("design", "in_whitespace"),
    [("metaspace", True), ("byte_level", True), ("newline_merging", False), ("stripping", False)],
)
def test_runs_of_white_space(design: str, in_whitespace: bool) -> None:
    assert trust_of(tokenizer_of(design)).in_whitespace is in_whitespace


def test_a_normalizer_that_looks_ahead_is_trusted_with_nothing() -> None:
    assert tokenizer_of("look_ahead").looks_ahead
    assert trust_of(tokenizer_of("look_ahead")) == Trust(frozenset(), in_run=False, in_whitespace=False)


@pytest.mark.parametrize(
    "pattern",
    [
        r"e(?=[\s\S]*z)",
        r"q(?=.*7)",
        r"0(?![\s\S]*\.)",
        r"(?m)a(?=.*~)",
        r"\((?=[\s\S]*\))",
        r"X(?=.*Y)",
        r"Y(?=.*X)",
        r"k[\s\S]*m",
    ],
)
def test_looking_ahead_is_found_out_by_trying(pattern: str) -> None:
    tokenizer = with_normalizer(pattern, "!")
    assert not tokenizer.looks_ahead
    trust = trust_of(tokenizer)
    assert trust.classes == frozenset()
    assert not trust.in_run


def test_a_tokenizer_that_fails_on_a_probe_is_trusted_with_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(TextTokenizer):
        def _encoding(self, text: str) -> Encoding:
            raise ValueError(f"cannot read {len(text)} characters")

    assert trust_of(Failing.from_json(file_of("metaspace"))) == Trust()
    assert "fails on a probe text" in caplog.text


def test_look_back_covers_the_longest_added_token() -> None:
    described = json.loads(file_of("metaspace"))
    token = "<a very long special token>"
    described["added_tokens"].append(
        {"id": 5000, "content": token, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    )
    assert trust_of(TextTokenizer.from_json(json.dumps(described))).lookback == len(token) + 1
    assert trust_of(tokenizer_of("metaspace")).lookback == 16


def test_characters_per_token_is_the_longest_entry_or_three_times_it() -> None:
    plain, composing = tokenizer_of("metaspace"), tokenizer_of("byte_level")
    assert characters_per_token(plain) == plain.longest_entry()
    assert characters_per_token(composing) == 3 * composing.longest_entry()


@pytest.mark.parametrize("fold", [*FOLDS, "\n\n"])
def test_a_dropped_character_leaves_no_bound(fold: str) -> None:
    library = Tokenizer.from_str(file_of("metaspace"))
    library.normalizer = normalizers.Replace(fold, "")
    tokenizer = TextTokenizer(library, None)
    assert characters_per_token(tokenizer) is None


def test_without_a_bound_no_cut_lies_inside_a_run() -> None:
    assert not check_tokenizer(tokenizer_of("metaspace"), None).in_run


def test_entries_longer_than_the_margin_forbid_cuts_inside_runs() -> None:
    described = json.loads(file_of("metaspace"))
    described["model"]["vocab"]["q" * 1100] = 6000
    tokenizer = TextTokenizer.from_json(json.dumps(described))
    assert not check_tokenizer(tokenizer, 1100).in_run


def test_probe_texts_hold_every_class_and_added_token() -> None:
    added = ["<bos>", "<a longer one>", *(f"<extra {number}>" for number in range(300))]
    *_, joined, backwards = long_texts(added)
    assert "<bos>" in joined
    assert "<a longer one>" in joined
    assert not any(token in backwards for token in added)
    assert len(joined) < 5000
    assert all(len(text) < 1000 for text in probe_texts(added))
    assert all(len(text) >= 1536 + 2 * 397 for text in run_texts())
    assert len(whitespace_texts(added)) < 40


@pytest.mark.parametrize("design", ["metaspace", "word_piece"])
def test_the_check_always_says_the_same(design: str) -> None:
    assert trust_of(tokenizer_of(design)) == trust_of(TextTokenizer.from_json(file_of(design)))
