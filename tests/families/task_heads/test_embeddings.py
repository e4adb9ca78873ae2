"""Embeddings: requests, budgets, vectors."""

import base64
from typing import Any

import numpy as np
import pytest

from tests.families.task_heads import models
from vela_jax.contract import InvalidRequest, Surface, UnsupportedSurface

ROW = [3.0, 4.0, 12.0, 0.0]


def plan(inputs: Any, **members: Any) -> Any:
    return models.plan(models.pooled(), Surface.EMBEDDINGS, {"input": inputs, **members})


def test_an_answer() -> None:
    planned = plan(["ab", {"type": "text", "text": "c"}])
    answer = models.answer(planned, [ROW, ROW])
    assert list(answer.body) == ["object", "data", "usage"]
    first = answer.body["data"][0]
    assert list(first) == ["object", "index", "embedding", "input"]
    np.testing.assert_allclose(first["embedding"], np.array(ROW) / 13, atol=1e-7)
    assert first["input"] == {"tokens": 4, "processed_tokens": 4, "truncated": False}
    assert answer.body["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert answer.meta == {
        "representation": {"model_sha256": "ef" * 32, "layer": 3, "dimension": 4, "normalized": True}
    }


def test_a_vector_is_cut_before_it_is_normalised() -> None:
    (entry,) = models.answer(plan("ab", dimensions=2), [ROW]).body["data"]
    np.testing.assert_allclose(entry["embedding"], [0.6, 0.8], atol=1e-7)


def test_base64_holds_the_same_little_endian_bits() -> None:
    (plain,) = models.answer(plan("ab"), [ROW]).body["data"]
    (coded,) = models.answer(plan("ab", encoding_format="base64"), [ROW]).body["data"]
    assert np.frombuffer(base64.b64decode(coded["embedding"], validate=True), "<f4").tolist() == plain["embedding"]


def test_a_raw_model_does_not_normalise() -> None:
    planned = models.plan(models.pooled(normalized=False), Surface.EMBEDDINGS, {"input": "x"})
    assert models.answer(planned, [ROW]).body["data"][0]["embedding"] == ROW


def test_a_zero_row_gives_a_finite_vector() -> None:
    assert models.answer(plan("ab"), [[0.0] * 4]).body["data"][0]["embedding"] == [0.0] * 4


def test_a_layer_decides_what_runs() -> None:
    assert plan("ab", layer=1).rows[0].readout.depth == 1
    assert plan("ab", layer=None).rows[0].readout.depth == 3


def test_a_prompt_stands_before_the_text_and_counts() -> None:
    planned = plan("ab", input_type="query")
    assert planned.rows[0].ids.tolist()[1:-1] == models.tokenizer().encode("find: ab").ids.tolist()
    assert plan("ab", input_type=None).rows[0].ids.tolist() == plan("ab").rows[0].ids.tolist()


def test_empty_text_is_allowed() -> None:
    assert plan("").rows[0].ids.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"dimensions": 3}, r"dimensions must be one of \[4, 2\], got 3"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": -1}, "dimensions"),
        ({"dimensions": True}, "dimensions"),
        ({"layer": 2}, r"layer must be one of \[1, 3\], got 2"),
        ({"layer": "1"}, "layer"),
        ({"input_type": "passage"}, r"input_type must be one of \['document', 'query'\], got 'passage'"),
        ({"encoding_format": "hex"}, "encoding_format must be one of"),
        ({"encoding_format": None}, "encoding_format"),
        ({"options": {"overflow": "window"}}, r"overflow must be one of \['reject', 'truncate'\], got 'window'"),
        ({"options": {"overflow": None}}, "overflow"),
        ({"options": {"overflow": ""}}, "overflow"),
        ({"options": {"max_tokens": 0}}, "max_tokens must be 1 to 256, got 0"),
        ({"options": {"max_tokens": 257}}, "got 257"),
    ],
)
def test_what_the_model_does_not_offer_is_refused(members: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        plan("ab", **members)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "1 to 2048 items, got 0"),
        (["a"] * 2049, "got 2049"),
        (3, "input must be"),
        ({"type": "text", "text": "a"}, "input must be"),
        (["a", 3], r"input\[1\] must be"),
        ([[1, 2]], r"input\[0\]"),
        ([{"type": "image_url", "image_url": {"url": "data:"}}], r"input\[0\]\.type"),
        ([{"type": "text"}], r"input\[0\]"),
        ([{"type": "text", "text": 3}], r"input\[0\]"),
        ([{"type": "text", "text": "a", "x": 1}], r"input\[0\]"),
        ([{}], r"input\[0\]\.type"),
    ],
)
def test_inputs_of_a_wrong_shape_are_refused_by_place(inputs: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        plan(inputs)


@pytest.mark.parametrize(
    ("budget", "overflow", "outcome"),
    [
        (8, "reject", (6, 6, False)),
        (6, "reject", (6, 6, False)),
        (5, "reject", None),
        (4, "truncate", (6, 4, True)),
        (2, "truncate", None),
        (1, "truncate", None),
    ],
)
def test_budgets(budget: int, overflow: str, outcome: tuple[int, int, bool] | None) -> None:
    planned = plan("abcd", options={"max_tokens": budget, "overflow": overflow})
    answer = models.answer(planned, [ROW] if outcome else [])
    (entry,) = answer.body["data"]
    if outcome is None:
        assert entry == {"object": "embedding", "index": 0, "error": "max_length_exceeded"}
        assert answer.body["usage"] == {"prompt_tokens": 0, "total_tokens": 0}
    else:
        tokens, processed, truncated = outcome
        assert entry["input"] == {"tokens": tokens, "processed_tokens": processed, "truncated": truncated}


def test_an_expired_item_keeps_its_counts() -> None:
    answer = models.answer(plan("ab"), [None])
    assert answer.body["data"] == [
        {
            "object": "embedding",
            "index": 0,
            "error": "deadline_exceeded",
            "input": {"tokens": 4, "processed_tokens": 4, "truncated": False},
        }
    ]
    assert answer.body["usage"]["total_tokens"] == 4


def test_a_vector_that_is_not_finite_fails_its_item_alone() -> None:
    data = models.answer(plan(["a", "b"], encoding_format="base64"), [[np.nan] * 4, ROW]).body["data"]
    assert data[0]["error"] == "invalid_model_output"
    assert "embedding" in data[1]


def test_an_embedder_serves_nothing_else() -> None:
    with pytest.raises(UnsupportedSurface, match="rerank"):
        models.plan(models.pooled(), Surface.RERANK, {"query": "q", "documents": ["d"]})
