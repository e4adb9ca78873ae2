"""Labelled requests."""

import itertools
import random

import pytest

from bench.mini.tasks import choices, nouls, scores, sets
from bench.mini.tasks.example import Ask, Example
from bench.mini.tasks.mixture import SHARES, Draw, examples, held
from bench.mini.texts.classes import schemes
from bench.mini.texts.split import Split


@pytest.mark.parametrize("draw", SHARES, ids=lambda draw: f"{draw.__module__.rpartition('.')[2]}.{draw.__name__}")
@pytest.mark.parametrize("split", list(Split))
def test_gold_answers_are_among_the_options(draw: Draw, split: Split) -> None:
    rng = random.Random(5)
    for _ in range(40):
        example = draw(rng, split)
        for ask in example.asks:
            check(ask, example)


def check(ask: Ask, example: Example) -> None:
    gold: object = ask.gold
    match ask.kind:
        case "choice":
            assert isinstance(gold, int)
            assert -1 <= gold < len(ask.keys)
            assert len(ask.keys) >= 2
        case "noul":
            assert gold in (0, 1)
        case "score":
            assert gold in range(len(ask.raw["criteria"]))
        case "set":
            assert isinstance(gold, tuple)
            assert set(gold) <= set(range(len(ask.keys)))
        case _:
            assert isinstance(gold, tuple)
            assert {mark[0] for mark in gold} <= set(ask.keys)
            assert all(example.state[start:end] for _, start, end in gold)


def test_shares_are_a_whole() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_equal_seeds_give_equal_examples() -> None:
    first, second = (list(itertools.islice(examples(9, Split.TRAIN), 60)) for _ in range(2))
    assert first == second


def test_nouls_are_balanced() -> None:
    rng = random.Random(6)
    for draw in (nouls.topic, nouls.kind, nouls.mention, nouls.support):
        golds = [draw(rng, Split.TRAIN).asks[0].gold for _ in range(300)]
        assert 110 < sum(1 for gold in golds if gold == 1) < 190


def test_a_set_can_have_no_true_label() -> None:
    rng = random.Random(8)
    golds = {len(sets.topic(rng, Split.TRAIN).asks[0].gold) for _ in range(60)}  # type: ignore[arg-type]
    assert golds == {0, 1, 2}


def test_a_pair_asks_one_question_of_two_levels() -> None:
    rng = random.Random(2)
    for _ in range(40):
        low, high = scores.pair(rng, Split.HELD, "p")
        assert low.asks[0].raw == high.asks[0].raw
        assert (low.asks[0].gold, low.pair) == (0, "p")
        assert high.asks[0].gold == len(high.asks[0].raw["criteria"]) - 1


def test_a_case_holds_what_an_evaluation_reads() -> None:
    example = choices.of_scheme(schemes()[0], random.Random(1), Split.TRAIN)
    ask = example.asks[0]
    case = example.case("a")
    assert case["request"] == {"state": example.state, "questions": {"q0": ask.raw}}
    assert case["expect"] == {"q0": {"choice": ask.keys[ask.gold]}}  # type: ignore[index]


def test_a_choice_without_its_option_is_no_case() -> None:
    ask = Ask("choice", {"type": "choice", "instructions": "x", "criteria": {"a": None, "b": None}}, -1)
    assert Example("t", (ask,)).case("a")["expect"] == {}


def test_the_held_set_has_every_kind() -> None:
    assert {ask.kind for example in held(60) for ask in example.asks} == {"choice", "noul", "set", "span", "score"}
