"""Texts and requests that are sent."""

from __future__ import annotations

import json
import random
from itertools import islice
from typing import Any

import pytest

from bench.workload import MIXES, Mix, requests, takes_grounded, texts, texts_of

CARD: dict[str, Any] = {"id": "m", "limits": {"max_input_tokens": 64}, "heads": [{"inputs": ["text"]}]}
GROUNDED = {**CARD, "heads": [{"inputs": ["grounded"]}]}


def test_texts_differ_and_follow_their_seed() -> None:
    found = list(islice(texts(8), 50))
    assert found == list(islice(texts(8), 50))
    assert len(set(found)) == 50
    assert {len(text.split()) for text in found} == {8}
    assert found != list(islice(texts(8, seed=1), 50))


@pytest.mark.parametrize("mix", MIXES.values())
def test_a_mix_keeps_its_bounds_and_has_more_short_than_long(mix: Mix) -> None:
    source = random.Random(0)
    words = [mix.draw(source) for _ in range(500)]
    assert mix.least <= min(words) <= max(words) <= mix.most
    assert sorted(words)[250] < (mix.least + mix.most) / 2


@pytest.mark.parametrize(("limit", "most"), [(32768, 120), (256, 120), (64, 24), (1, 1)])
def test_a_mix_is_cut_to_what_a_model_takes(limit: int, most: int) -> None:
    cut = Mix(3, 120).within(limit)
    assert cut == Mix(min(3, most), most)


@pytest.mark.parametrize(
    ("surface", "card", "members"),
    [
        ("embeddings", CARD, {"input"}),
        ("classify", CARD, {"input"}),
        ("rerank", CARD, {"query", "documents"}),
        ("decisions", CARD, {"state", "questions"}),
    ],
)
def test_requests_have_the_form_of_their_surface(surface: str, card: dict[str, Any], members: set[str]) -> None:
    found = requests(card, surface, 3, Mix(5, 5))
    assert [path for path, _ in found] == [f"/v1/{surface}"] * 3
    bodies = [json.loads(body) for _, body in found]
    assert all(body.keys() == {"model", *members} for body in bodies)
    assert len({str(body) for body in bodies}) == 3


def test_grounded_heads_get_a_context() -> None:
    ((_, body),) = requests(GROUNDED, "classify", 1, Mix(5, 5))
    assert json.loads(body)["input"][0].keys() == {"context", "answer"}
    assert takes_grounded(GROUNDED)
    assert not takes_grounded({"id": "no heads"})


def test_texts_of_a_mix_are_endless() -> None:
    assert len(list(islice(texts_of(Mix(1, 3)), 100))) == 100
