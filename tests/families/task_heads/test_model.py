"""What a model reports on its card."""

import msgspec
import pytest

from tests.families.task_heads import models
from vela_jax.families.task_heads.model import TaskHeadsModel


@pytest.mark.parametrize(
    ("model", "surfaces", "head"),
    [
        (models.sequence(), ["classify"], {"kind": "sequence", "inputs": ["text", "pair"], "reduction": "max"}),
        (models.token(), ["classify"], {"kind": "token", "inputs": ["text"], "reduction": "span_union"}),
        (models.nli(), ["classify", "decisions"], {"kind": "sequence"}),
        (
            models.grounded(),
            ["classify"],
            {
                "kind": "token",
                "inputs": ["grounded"],
                "default_threshold": 0.5,
                "reduction": None,
                "operating_point_sha256": "cd" * 32,
            },
        ),
        (
            models.scores(window=(40, 11)),
            ["classify"],
            {
                "kind": "scores",
                "thresholds": [0.5, 0.2, 0.9],
                "overflow": "window",
                "window": {"tokens": 40, "overlap": 11},
                "operating_point_sha256": "ab" * 32,
            },
        ),
    ],
)
def test_head_cards(model: TaskHeadsModel, surfaces: list[str], head: dict[str, object]) -> None:
    card = msgspec.to_builtins(model.describe())
    assert card["family"] == "task_heads"
    assert card["surfaces"] == surfaces
    assert card["limits"] == {"max_input_tokens": 256, "max_inputs": 2048}
    (shown,) = card["heads"]
    assert {name: shown[name] for name in head} == head


def test_the_card_of_an_entailment_model_lists_its_question_types() -> None:
    assert models.nli().describe().question_types == ["choice", "noul"]
    assert models.sequence().describe().question_types == []


def test_an_embedders_card() -> None:
    card = msgspec.to_builtins(models.pooled().describe().embedding)
    assert card == {
        "dimensions": [4, 2],
        "layers": [1, 3],
        "modalities": ["text"],
        "normalized": True,
        "pooling": "mean",
        "input_types": ["document", "query"],
    }


def test_a_rerankers_card() -> None:
    card = msgspec.to_builtins(models.relevance().describe().rerank)
    assert card["default"] == {"layer": 4, "dimension": 64}
    assert [(exit_["layer"], exit_["dimension"]) for exit_ in card["exits"]] == [(2, 64), (2, 32), (4, 64)]
