"""Texts and pairs of the embedder."""

import random

import pytest

from bench.mini.encoders import sentences
from bench.mini.encoders.sentences import decision_texts, pairs, texts
from bench.mini.texts.split import Split


def test_equal_seeds_give_equal_texts() -> None:
    assert texts(3, 50) == texts(3, 50)
    assert texts(3, 50) != texts(4, 50)
    assert len(set(texts(3, 50))) == len(texts(3, 50))


def test_states_and_options_of_decisions_are_read() -> None:
    found = decision_texts(0, 40)
    assert len(found) > 20
    assert all(isinstance(text, str) and text for text in found)


def test_half_of_the_pairs_have_to_do_with_each_other() -> None:
    made = pairs(5, 20)
    assert sum(pair.near for pair in made) == 10
    assert all(pair.first and pair.second for pair in made)


@pytest.mark.parametrize("split", list(Split))
def test_every_source_gives_texts_of_both_sides(split: Split) -> None:
    rng = random.Random(1)
    for draw in sentences.DRAWS:
        assert draw(rng, split)
    for near in sentences.NEAR:
        assert all(near(rng, split))
