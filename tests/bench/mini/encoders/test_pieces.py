"""Vocabularies of encoders, framed, with and without capitals."""

import json

import numpy as np
from tokenizers import Tokenizer

from bench.mini.encoders.pieces import Pieces, make_pieces
from bench.mini.teacher import Teacher

TEXTS = ["Please route this request", "The quick Fox", "ask Fox about Berlin", "fox"]


def tokens(pieces: Pieces, text: str, other: str | None = None) -> list[str]:
    found: list[str] = Tokenizer.from_str(pieces.tokenizer).encode(text, other).tokens
    return found


def test_texts_and_pairs_are_framed(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, TEXTS, 150)
    assert tokens(pieces, "FOX", "fox") == ["[CLS]", "fox", "[SEP]", "fox", "[SEP]"]
    assert pieces.texts.single.size == 2
    assert pieces.texts.pair.size == 3
    assert pieces.ids["pad_token_id"] == 0
    assert pieces.size == 150


def test_capitals_have_twins(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, TEXTS, 200, cased=True)
    assert tokens(pieces, "Fox fox")[1:3] == ["Fox", "fox"]
    assert "[UNK]" not in tokens(pieces, "FoX BERLIN Zurich caf\u00e9")
    vocabulary = json.loads(pieces.tokenizer)["model"]["vocab"]
    twin, own = vocabulary["Fox"], vocabulary["fox"]
    assert pieces.rows[twin] == pieces.rows[own]
    assert (pieces.capital[twin], pieces.capital[own]) == (True, False)
    assert sorted(vocabulary.values()) == list(range(pieces.size))


def test_shares_are_those_of_the_texts(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, TEXTS, 150)
    vocabulary = json.loads(pieces.tokenizer)["model"]["vocab"]
    assert np.isclose(pieces.share.sum(), 1)
    assert pieces.share[vocabulary["[CLS]"]] == pieces.share.max()
