"""Inputs at, around and far over the limit: what is read, what is refused, what is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from tests.end_to_end.asking import ask, classify, embed, rerank, series, text_of_numbers
from tests.end_to_end.conftest import SMALL

ATTACK: Final = "@ " * 16
HARMLESS: Final = "the river is long and the garden is green. "
WINDOW: Final = {"tokens": 64, "overlap": 16}
WINDOWS: Final = {"overflow": "window", "window": WINDOW}
FEW_BASE: Final = 5
TOPIC: Final = {"topic": {"type": "noul", "instructions": "the text is long"}}

Read = Callable[[httpx.Client, int], tuple[int | None, str | None]]


def words(count: int) -> str:
    """A text of so many tokens in every package: the letter with a space before it is an entry of all of them."""
    return " ".join("a" * count)


def embedded(model: str) -> Read:
    def read(client: httpx.Client, count: int) -> tuple[int | None, str | None]:
        (entry,) = embed(client, model, words(count))
        return entry.get("input", {}).get("tokens"), entry.get("error")

    return read


def classified(model: str, item: Callable[[int], Any]) -> Read:
    def read(client: httpx.Client, count: int) -> tuple[int | None, str | None]:
        (result,) = classify(client, model, [item(count)], overflow="reject")
        return result.get("input", {}).get("tokens"), result.get("error")

    return read


def ranked(client: httpx.Client, count: int) -> tuple[int | None, str | None]:
    result = rerank(client, "reranker", "the river", [words(count)])[0]
    return result.get("input", {}).get("tokens"), result.get("error")


def decided(client: httpx.Client, count: int) -> tuple[int | None, str | None]:
    answer = ask(client, "/v1/decisions", {"model": "nli", "state": words(count), "questions": TOPIC})
    return answer["usage"]["input_tokens"], answer["answers"]["topic"].get("error")


HEADS: Final[dict[str, tuple[Read, int]]] = {
    **{model: (embedded(model), SMALL[model]) for model in ("embedding", "qwen3_embedding", "sentence_bert")},
    **{model: (classified(model, words), 96) for model in ("sequence", "scores", "spans")},
    "pair": (classified("sequence", lambda count: {"text": words(count), "text_pair": "the river"}), 96),
    "grounded": (
        classified("grounded", lambda count: {"context": words(count), "answer": "the river"}),
        SMALL["grounded"],
    ),
    "rerank": (ranked, SMALL["reranker"]),
    "decisions": (decided, SMALL["nli"]),
}


@pytest.mark.parametrize("head", HEADS)
def test_an_input_fits_up_to_the_limit_and_not_beyond(client: httpx.Client, head: str) -> None:
    read, limit = HEADS[head]
    tokens, _ = read(client, FEW_BASE)
    assert tokens is not None
    frame = tokens - FEW_BASE
    assert read(client, limit - 1 - frame) == (limit - 1, None)
    assert read(client, limit - frame) == (limit, None)
    _, error = read(client, limit + 1 - frame)
    assert error == "max_length_exceeded"
    assert read(client, limit - frame) == (limit, None)  # the refusal harmed nobody


@pytest.mark.parametrize("model", ["embedding", "qwen3_embedding", "sentence_bert", "embed"])
def test_truncation_is_the_same_in_a_string_and_in_lists(client: httpx.Client, model: str) -> None:
    options = {"max_tokens": 20, "overflow": "truncate"}
    long, short = words(60), words(6)
    (alone,) = embed(client, model, long, options=options)
    (listed,) = embed(client, model, [long], options=options)
    first, middle, last = embed(client, model, [short, long, words(7)], options=options)
    assert alone == listed == {**middle, "index": 0}
    assert alone["input"]["processed_tokens"] == 20
    assert [entry["input"]["truncated"] for entry in (first, middle, last)] == [False, True, False]


def test_truncation_of_classified_texts_is_the_same_in_a_string_and_in_lists(client: httpx.Client) -> None:
    options = {"max_tokens": 20, "overflow": "truncate"}
    long, short = words(60), words(6)
    (alone,) = classify(client, "sequence", long, **options)
    (listed,) = classify(client, "sequence", [long], **options)
    first, middle, last = classify(client, "sequence", [short, {"text": long}, words(7)], **options)
    assert alone == listed == {**middle, "index": 0}
    assert [entry["input"]["truncated"] for entry in (first, middle, last)] == [False, True, False]


def test_an_input_longer_than_the_batch_budget_runs_alone(client: httpx.Client) -> None:
    before = series(client)
    long, short = embed(client, "batched", [words(900), words(6)])
    after = series(client)
    assert long["input"]["tokens"] == 902
    assert short["input"]["tokens"] == 8
    assert embed(client, "batched", words(6))[0]["embedding"] == short["embedding"]
    forwards = after["vllm_srun_batch_rows_count"] - before["vllm_srun_batch_rows_count"]
    alone = after['vllm_srun_batch_rows_bucket{le="1.0"}'] - before['vllm_srun_batch_rows_bucket{le="1.0"}']
    assert (forwards, alone) == (2, 2)


def test_characters_are_no_limit_where_truncation_is_asked_for(client: httpx.Client) -> None:
    text = "a" * 40_000
    (entry,) = embed(client, "embed", text, options={"overflow": "truncate", "max_tokens": 90})
    assert entry["input"]["truncated"]
    assert entry["input"]["processed_tokens"] == 90
    (result,) = classify(client, "sequence", text, overflow="truncate")
    assert result["input"]["truncated"]
    assert result["input"]["processed_tokens"] == 96


@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_windows_see_an_attack_wherever_it_stands(client: httpx.Client, place: str) -> None:
    harmless = HARMLESS * 420  # 18,000 characters
    cut = {"start": 0, "middle": len(HARMLESS) * 210, "end": len(harmless)}[place]
    (result,) = classify(client, "alarm", harmless[:cut] + ATTACK + harmless[cut:], **WINDOWS)
    read = [window["probabilities"] for window in result["windows"]]
    assert len(read) == result["input"]["windows"] > 100
    assert result["windows"][0]["start"] == 0
    assert result["windows"][-1]["end"] == result["input"]["tokens"] - 2
    assert result["probabilities"] == [max(column) for column in zip(*read, strict=True)]
    alarmed = [number for number, (_, unsafe) in enumerate(read) if unsafe > 0.99]
    assert result["probabilities"][1] > 0.99
    expected = {"start": 0, "middle": len(read) // 2, "end": len(read) - 1}[place]
    assert alarmed
    assert all(abs(number - expected) <= 2 for number in alarmed)


def test_windows_of_a_harmless_text_raise_no_alarm_and_repeat_their_bits(client: httpx.Client) -> None:
    (once,) = classify(client, "alarm", HARMLESS * 100, **WINDOWS)
    (again,) = classify(client, "alarm", [HARMLESS * 100], **WINDOWS)
    assert once["probabilities"][1] < 0.01
    assert text_of_numbers(once) == text_of_numbers(again)


def test_an_entity_in_an_overlap_or_on_an_edge_is_found_once(client: httpx.Client) -> None:
    # 24 tokens a window, 6 of them shared: the entity stands at every place of a text of three windows.
    options = {"overflow": "window", "window": {"tokens": 24, "overlap": 6}}
    entity = "@12-34-56"
    texts = [words(before) + entity + " a" * (54 - before) for before in range(1, 54)]
    for text, result in zip(texts, classify(client, "spans", texts, **options), strict=True):
        assert result["input"]["windows"] > 2
        (span,) = result["spans"]
        assert text[span["start"] : span["end"]] == span["text"] == entity
    whole = classify(client, "spans", texts, overflow="reject")
    windowed = classify(client, "spans", texts, **options)
    assert [result["spans"] for result in windowed] == [result["spans"] for result in whole]


def test_two_entities_that_share_an_overlap_stay_two(client: httpx.Client) -> None:
    options = {"overflow": "window", "window": {"tokens": 24, "overlap": 12}}
    text = words(12) + " @1 @2 a @3" + " a" * 30
    (result,) = classify(client, "spans", text, **options)
    assert [span["text"] for span in result["spans"]] == ["@1", "@2", "@3"]


def test_usage_of_a_cut_text_counts_what_was_read(client: httpx.Client) -> None:
    (entry,) = embed(client, "embed", words(20_000), options={"overflow": "truncate", "max_tokens": 200})
    usage = entry["input"]
    assert usage["processed_tokens"] == 200
    assert usage["truncated"] is True
    assert usage["tokens_lower_bound"] is True
    assert 200 < usage["tokens"] < 20_002
    short = {"overflow": "truncate", "max_tokens": 20}
    assert embed(client, "embed", words(60), options=short)[0]["input"] == {
        "tokens": 62,
        "processed_tokens": 20,
        "truncated": True,
    }


def test_only_what_was_asked_for_is_cut(client: httpx.Client) -> None:
    long = words(600)
    assert embed(client, "embedding", [long, "a"])[0]["error"] == "max_length_exceeded"
    assert classify(client, "sequence", [long, "a"])[0] == {"index": 0, "error": "max_length_exceeded"}
    assert classify(client, "spans", [long, "a"])[0] == {"index": 0, "error": "max_length_exceeded"}
    assert classify(client, "scores", [long, "a"])[0] == {"index": 0, "error": "scan_budget_exceeded"}
    item = {"context": long, "answer": "a"}
    assert classify(client, "grounded", [item])[0] == {"index": 0, "error": "max_length_exceeded"}
    documents = rerank(client, "reranker", "a", [long, "a"])
    assert documents[0] == {"index": 0, "error": "max_length_exceeded"}
    assert "logit" in documents[1]
    answer = ask(client, "/v1/decisions", {"model": "nli", "state": long, "questions": TOPIC})
    assert answer["answers"]["topic"]["error"] == "max_length_exceeded"
