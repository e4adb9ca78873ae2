"""Vocabularies of encoders, framed, with and without capitals."""

import json

import numpy as np
from tokenizers import Tokenizer

from bench.mini.encoders.pieces import Pieces, make_pieces
from bench.mini.teacher import Teacher


def words(teacher: Teacher) -> tuple[str, str]:
    """Two whole words that the teacher has pieces for."""
    known = [
        piece for piece in json.loads(teacher.tokenizer_file)["model"]["vocab"] if piece.isalpha() and len(piece) > 3
    ]
    return known[0], known[1]


def texts(teacher: Teacher) -> list[str]:
    one, other = words(teacher)
    return [f"the {one}", f"a {one.capitalize()} and {other}", f"{other} {one}", f"{one.capitalize()} in Berlin"]


def tokens(pieces: Pieces, text: str, other: str | None = None) -> list[str]:
    found: list[str] = Tokenizer.from_str(pieces.tokenizer).encode(text, other).tokens
    return found


def test_texts_and_pairs_are_framed(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, texts(teacher), 150)
    one, other = words(teacher)
    assert tokens(pieces, one.upper(), other) == ["[CLS]", one, "[SEP]", other, "[SEP]"]
    assert pieces.texts.single.size == 2
    assert pieces.texts.pair.size == 3
    assert pieces.ids["pad_token_id"] == 0
    assert pieces.size == 150


def test_capitals_have_twins(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, texts(teacher), 240, cased=True)
    small, large = words(teacher)[0], words(teacher)[0].capitalize()
    assert tokens(pieces, f"{large} {small}")[1:3] == [large, small]
    assert "[UNK]" not in tokens(pieces, "FoX BERLIN Zurich caf\u00e9")
    vocabulary = json.loads(pieces.tokenizer)["model"]["vocab"]
    twin, own = vocabulary[large], vocabulary[small]
    assert pieces.rows[twin] == pieces.rows[own]
    assert (pieces.capital[twin], pieces.capital[own]) == (True, False)
    assert sorted(vocabulary.values()) == list(range(pieces.size))


def test_shares_are_those_of_the_texts(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, texts(teacher), 150)
    vocabulary = json.loads(pieces.tokenizer)["model"]["vocab"]
    assert np.isclose(pieces.share.sum(), 1)
    assert pieces.share[vocabulary["[CLS]"]] == pieces.share.max()
