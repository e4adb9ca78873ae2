"""Texts to compare, requests that carry them, and answers cut out of replies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.questions import (
    BATCH_SIZES,
    SHORTEST,
    Subject,
    TokenRate,
    answers_by_place,
    make_batches,
    make_texts,
    read_tokens,
    subject_of,
)


def card(*surfaces: str, inputs: str = "text") -> dict[str, Any]:
    return {
        "id": "m",
        "surfaces": list(surfaces),
        "limits": {"max_input_tokens": 500},
        "heads": [{"inputs": [inputs]}],
    }


@pytest.mark.parametrize(
    ("surfaces", "chosen"),
    [(("classify", "decisions"), "classify"), (("embeddings",), "embeddings"), (("rerank",), "rerank")],
)
def test_a_model_is_asked_on_a_surface_it_serves(surfaces: tuple[str, ...], chosen: str) -> None:
    subject = subject_of(card(*surfaces), 2048)
    assert (subject.surface, subject.path, subject.room) == (chosen, f"/v1/{chosen}", 500)
    assert subject_of(card(*surfaces), 100).room == 100


def test_a_model_of_other_surfaces_is_refused() -> None:
    with pytest.raises(ValueError, match="m serves decisions"):
        subject_of(card("decisions"), 2048)


def test_vectors_travel_as_bytes() -> None:
    body = json.loads(Subject("m", "embeddings", grounded=False, room=9).body(["a", "b"]))
    assert body == {"model": "m", "input": ["a", "b"], "encoding_format": "base64"}


def test_documents_share_a_query() -> None:
    body = json.loads(Subject("m", "rerank", grounded=False, room=9).body(["a"]))
    assert body["documents"] == ["a"]


def test_grounded_answers_show_every_token() -> None:
    body = json.loads(Subject("m", "classify", grounded=True, room=9).body(["a"]))
    assert body["input"] == [{"answer": "a"}]
    assert body["options"] == {"return_tokens": True}


def test_answers_keep_the_text_of_their_numbers() -> None:
    reply = b'{"results": [{"index": 1, "score": 0.10}, {"index": 0, "score": 0.1}]}'
    first, second = answers_by_place(reply)
    assert first != second
    assert json.loads(second) == {"score": "0.10"}


def test_answers_do_not_depend_on_their_place() -> None:
    one = answers_by_place(b'{"data": [{"index": 0, "embedding": "AAAA"}]}')
    two = answers_by_place(b'{"data": [{"index": 0, "embedding": "BBBB"}, {"embedding": "AAAA", "index": 1}]}')
    assert two[1] == one[0]


@pytest.mark.parametrize("usage", [{"prompt_tokens": 7, "total_tokens": 7}, {"input_tokens": 7, "output_tokens": 0}])
def test_tokens_are_counted_by_the_answer(usage: dict[str, int]) -> None:
    assert read_tokens(json.dumps({"usage": usage}).encode()) == 7


def test_words_fit_the_room() -> None:
    rate = TokenRate.between((1, 5), (11, 45))
    assert (rate.fixed, rate.a_word) == (1.0, 4.0)
    assert 1 + 4 * rate.words(401) <= 401
    assert rate.words(2) == 1.0


def test_texts_reach_from_one_letter_to_the_longest() -> None:
    texts = make_texts(20, 300.0, seed=1)
    words = [len(text.split()) for text in texts]
    assert texts[0] == SHORTEST
    assert words[1] == max(words) == 300
    assert texts == make_texts(20, 300.0, seed=1)
    assert len(make_texts(1, 300.0, seed=1)) == 1


@pytest.mark.parametrize("answers", [1, 33, 500])
def test_batches_have_so_many_answers(answers: int) -> None:
    batches = make_batches(answers, 10, seed=3)
    assert sum(len(batch) for batch in batches) == answers
    assert {len(batch) for batch in batches[:-1]} <= set(BATCH_SIZES)
    assert {index for batch in batches for index in batch} <= set(range(10))
