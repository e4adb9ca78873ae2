"""Classify: items, windows, budgets and answers of sequence, scores and token heads."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.families.task_heads import models
from vela_jax.contract import InvalidRequest, Surface
from vela_jax.families.task_heads import items
from vela_jax.families.task_heads.spec import Kind

ENVELOPE = 2  # <bos> A <eos>
PAIR = 3


def tokens_in(text: str) -> int:
    return models.tokenizer().encode(text).count


def test_a_sequence_answer() -> None:
    (result,) = models.classify(models.sequence(), "hello world", [[0.0, 2.0, 1.0]])
    count = tokens_in("hello world") + ENVELOPE
    assert list(result) == ["index", "input", "probabilities", "label"]
    assert result["input"] == {"tokens": count, "processed_tokens": count, "truncated": False}
    assert result["label"] == "yes"
    np.testing.assert_allclose(result["probabilities"], np.exp([0, 2, 1]) / np.exp([0, 2, 1]).sum(), atol=1e-7)


def test_the_first_label_wins_a_tie() -> None:
    (result,) = models.classify(models.sequence(), "x", [[1.0, 1.0, 0.0]])
    assert result["label"] == "no"


def test_probabilities_are_float32_values() -> None:
    (result,) = models.classify(models.sequence(), "x", [[0.3, 0.1, 0.2]])
    assert all(float(np.float32(value)) == value for value in result["probabilities"])


BAD_TEXTS: list[Any] = ["", {}, {"text": ""}, {"text": 3}, {"text": "a", "x": 1}, 3, None, [], True]
BAD_PAIRS: list[Any] = [
    {"text_pair": "x"},
    {"text": "x", "text_pair": 1},
    {"text": "x", "text_pair": " "},
    {"text": " ", "text_pair": "x"},
]


@pytest.mark.parametrize("item", [*BAD_TEXTS, *BAD_PAIRS])
def test_a_bad_item_harms_no_neighbour(item: Any) -> None:
    results = models.classify(models.sequence(), ["fine", item, {"text": "also"}], [[0, 1, 0], [1, 0, 0]])
    assert [result.get("label", result.get("error")) for result in results] == ["yes", "invalid_input", "no"]
    assert results[1] == {"index": 1, "error": "invalid_input"}


@pytest.mark.parametrize("inputs", [[], ["a"] * 2049, 3, None, True])
def test_an_input_of_a_wrong_shape_is_refused(inputs: Any) -> None:
    with pytest.raises(InvalidRequest, match="input must"):
        models.plan(models.sequence(), Surface.CLASSIFY, {"input": inputs})


@pytest.mark.parametrize("head", ["second", "_nli_logits"])
def test_there_is_one_head(head: str) -> None:
    with pytest.raises(InvalidRequest, match="head must be 'default'"):
        models.plan(models.nli(), Surface.CLASSIFY, {"input": "x", "head": head})


def test_reject_fails_at_one_token_over() -> None:
    text = "a b c d"
    count = tokens_in(text) + ENVELOPE
    fits = models.classify(models.sequence(), text, [[0, 0, 0]], max_tokens=count)
    assert fits[0]["input"]["tokens"] == count
    planned = models.plan(models.sequence(), Surface.CLASSIFY, {"input": text, "options": {"max_tokens": count - 1}})
    body = models.answer(planned, []).body
    assert body["results"] == [{"index": 0, "error": "max_length_exceeded"}]
    assert body["usage"]["input_tokens"] == count


def test_a_text_that_is_surely_over_counts_one_more_than_the_budget() -> None:
    planned = models.plan(models.sequence(), Surface.CLASSIFY, {"input": "x" * 10_000, "options": {"max_tokens": 8}})
    assert models.answer(planned, []).body["usage"]["input_tokens"] == 9


@pytest.mark.parametrize(("budget", "kept"), [(5, 3), (2, 0)])
def test_truncate_keeps_the_first_content_tokens(budget: int, kept: int) -> None:
    model = models.sequence()
    body = {"input": "some longer words", "options": {"overflow": "truncate", "max_tokens": budget}}
    planned = models.plan(model, Surface.CLASSIFY, body)
    ids = models.tokenizer().encode("some longer words").ids
    assert planned.rows[0].ids.tolist() == [2, *ids[:kept].tolist(), 1]
    usage = models.answer(planned, [[0, 0, 0]]).body["results"][0]["input"]
    assert usage == {"tokens": len(ids) + ENVELOPE, "processed_tokens": budget, "truncated": True}


def test_truncate_needs_room_for_the_special_tokens() -> None:
    (result,) = models.classify(models.sequence(), "words", [], overflow="truncate", max_tokens=1)
    assert result["error"] == "max_length_exceeded"


def test_a_long_text_is_read_in_part_and_says_so() -> None:
    (result,) = models.classify(models.sequence(), "word " * 5000, [[0, 0, 0]], overflow="truncate", max_tokens=20)
    usage = result["input"]
    assert usage["processed_tokens"] == 20
    assert usage["truncated"] is True
    assert usage["tokens_lower_bound"] is True
    assert 20 < usage["tokens"] < tokens_in("word " * 5000)


def test_windows_join_by_the_largest_value() -> None:
    text = "a b c d e f"
    count = tokens_in(text)
    planned = models.plan(
        models.sequence(),
        Surface.CLASSIFY,
        {"input": text, "options": {"overflow": "window", "window": {"tokens": 6, "overlap": 1}}},
    )
    outputs = np.eye(3)[np.arange(len(planned.rows)) % 3] * 5
    (result,) = models.answer(planned, list(outputs)).body["results"]
    assert list(result) == ["index", "input", "windows", "probabilities", "label"]
    assert [window["start"] for window in result["windows"]] == [3 * n for n in range(len(planned.rows))]
    assert result["windows"][-1]["end"] == count
    assert result["input"]["windows"] == len(planned.rows)
    assert result["input"]["processed_tokens"] == count + ENVELOPE
    best = np.max([window["probabilities"] for window in result["windows"]], axis=0)
    assert result["probabilities"] == best.tolist()


@pytest.mark.parametrize("window", [{"tokens": 2}, {"tokens": 1}, {"tokens": 6, "overlap": 4}, {"tokens": -5}])
def test_an_impossible_window_fails_the_item(window: dict[str, int]) -> None:
    results = models.classify(models.sequence(), ["abc"], [], overflow="window", window=window)
    assert results == [{"index": 0, "error": "invalid_input"}]


def test_a_text_over_the_scan_budget_is_not_read() -> None:
    planned = models.plan(
        models.sequence(),
        Surface.CLASSIFY,
        {
            "input": ["short", "long words " * 30],
            "options": {"overflow": "window", "max_tokens": 20, "window": {"tokens": 8}},
        },
    )
    results = models.answer(planned, [[0, 0, 1]] * len(planned.rows)).body["results"]
    assert results[0]["label"] == "maybe"
    assert results[1] == {"index": 1, "error": "scan_budget_exceeded"}


def test_a_request_whose_windows_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "MAX_ROW_TOKENS", 150)
    body = {
        "input": ["a b c d e f g h i j k l m n o p"] * 3,
        "options": {"overflow": "window", "window": {"tokens": 12, "overlap": 9}},
    }
    with pytest.raises(InvalidRequest, match="rows of more than 150 tokens"):
        models.plan(models.sequence(), Surface.CLASSIFY, body)


def test_a_pair_is_framed_with_both_texts() -> None:
    planned = models.plan(models.sequence(), Surface.CLASSIFY, {"input": {"text": "ab", "text_pair": "c"}})
    first, second = (models.tokenizer().encode(text).ids.tolist() for text in ("ab", "c"))
    assert planned.rows[0].ids.tolist() == [2, *first, 1, *second, 1]


@pytest.mark.parametrize(("room", "error"), [(PAIR + 1, None), (PAIR, "max_length_exceeded")])
def test_a_cut_pair_keeps_the_second_text_whole(room: int, error: str | None) -> None:
    second = tokens_in("b c d")
    body = {
        "input": {"text": "hello world", "text_pair": "b c d"},
        "options": {"overflow": "truncate", "max_tokens": second + room},
    }
    planned = models.plan(models.sequence(), Surface.CLASSIFY, body)
    (result,) = models.answer(planned, [] if error else [[0, 0, 0]]).body["results"]
    assert result.get("error") == error
    if error is None:
        assert result["input"]["processed_tokens"] == second + room


def test_a_pair_has_no_windows() -> None:
    results = models.classify(
        models.sequence(), [{"text": "a", "text_pair": "b"}], [], overflow="window", window={"tokens": 8}
    )
    assert results[0]["error"] == "invalid_input"


@pytest.mark.parametrize(("strict", "selected"), [(False, ["a", "c"]), (True, ["c"])])
def test_scores_are_independent_and_selected_by_their_thresholds(strict: bool, selected: list[str]) -> None:
    (result,) = models.classify(models.scores(strict=strict), "x", [[0.0, -2.0, 3.0]])
    assert list(result) == ["index", "input", "scores", "selected"]
    np.testing.assert_allclose(result["scores"], [0.5, 0.119203, 0.952574], atol=1e-6)
    assert result["selected"] == selected


def test_scores_without_an_operating_point_select_nothing() -> None:
    model = models.classifier(Kind.SCORES, "a", "b")
    (result,) = models.classify(model, "x", [[9.0, -9.0]])
    assert "selected" not in result


def test_scores_take_no_pairs() -> None:
    (result,) = models.classify(models.scores(), [{"text": "a", "text_pair": "b"}], [])
    assert result["error"] == "invalid_input"


def test_an_operating_point_reads_windows_by_itself() -> None:
    planned = models.plan(models.scores(window=(6, 1), limit=64), Surface.CLASSIFY, {"input": "a b c d e"})
    (result,) = models.answer(planned, [[0, 0, 0]] * len(planned.rows)).body["results"]
    assert len(result["windows"]) == len(planned.rows) > 1
    assert list(result["windows"][0]) == ["start", "end", "scores"]


@pytest.mark.parametrize("missing", [0, -2])
def test_an_item_whose_window_did_not_run_has_passed_its_deadline(missing: int) -> None:
    body = {"input": ["a b c", "x"], "options": {"overflow": "window", "window": {"tokens": 6, "overlap": 0}}}
    planned = models.plan(models.sequence(), Surface.CLASSIFY, body)
    outputs: list[Any] = [[0, 1, 0]] * len(planned.rows)
    outputs[missing] = None
    results = models.answer(planned, outputs).body["results"]
    assert results[0] == {"index": 0, "error": "deadline_exceeded"}
    assert results[1]["label"] == "yes"


def test_a_readout_that_is_not_finite_fails_its_item_alone() -> None:
    results = models.classify(models.sequence(), ["a", "b"], [[0, np.nan, 0], [0, 1, 0]])
    assert [result.get("error") for result in results] == ["invalid_model_output", None]


def logits(*label_ids: int) -> NDArray[np.float64]:
    return np.eye(3)[list(label_ids)] * 6


def test_token_spans() -> None:
    text = "ab-cd"
    count = tokens_in(text)
    assert count == 5
    (result,) = models.classify(models.token(), text, [logits(0, 1, 2, 0, 1, 2, 0)], return_tokens=True)
    assert list(result) == ["index", "spans", "input", "tokens"]
    assert [(span["label"], span["start"], span["end"], span["text"]) for span in result["spans"]] == [
        ("X", 0, 2, "ab"),
        ("X", 3, 5, "cd"),
    ]
    assert list(result["spans"][0]) == ["label", "start", "end", "text", "probability"]
    assert [(row["start"], row["end"]) for row in result["tokens"]] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert sum(result["tokens"][0]["probabilities"]) == pytest.approx(1, abs=1e-6)


def test_a_threshold_drops_weak_spans() -> None:
    (result,) = models.classify(models.token(), "ab", [logits(0, 1, 2, 0)], threshold=1.0)
    assert result["spans"] == []


def test_a_cut_token_text_is_its_longest_prefix() -> None:
    body = {"input": "ab-cd ef", "options": {"overflow": "truncate", "max_tokens": 5}}
    planned = models.plan(models.token(), Surface.CLASSIFY, body)
    assert planned.rows[0].ids.tolist() == [2, *models.tokenizer().encode("ab-").ids.tolist(), 1]


def test_windows_give_the_spans_of_the_whole_text() -> None:
    text = "ab-cd"
    whole = models.classify(models.token(), text, [logits(0, 1, 2, 0, 1, 2, 0)])
    body = {"input": text, "options": {"overflow": "window", "window": {"tokens": 5, "overlap": 1}}}
    planned = models.plan(models.token(), Surface.CLASSIFY, body)
    assert len(planned.rows) == 2
    cut = models.answer(planned, [logits(0, 1, 2, 0, 0), logits(0, 0, 1, 2, 0)]).body["results"]
    assert cut[0]["spans"] == whole[0]["spans"]
