"""Model cards before and after the load, and the list of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from serving.config import Limits, ModelEntry
from serving.loaded import LoadedModel, Report
from tests.serving.fakes import Process, describe, load_letters
from vela_jax.contract import Surface
from vela_jax.surfaces.card import EmbeddingCard, ExitCard, HeadCard, RerankCard, WindowCard

ENTRY = ModelEntry(model="acme/letters")


def card_of(process: Process) -> dict[str, Any]:
    (card,) = process.service.model_cards()
    msgspec.json.encode(card)
    return card


def loaded_card(**members: Any) -> dict[str, Any]:
    description = describe(**members)
    return card_of(Process([ENTRY], load=lambda entry, report: load_letters(description=description)).up())  # noqa: ARG005


def test_before_the_load_a_card_has_only_what_is_known() -> None:
    card = card_of(Process([ENTRY]))
    plugins = card.pop("plugins")
    assert card == {
        "id": "acme/letters",
        "object": "model",
        "family": "unknown",
        "surfaces": [],
        "ready": False,
        "status": "starting",
        "reason": "waiting to be loaded",
        "golden": {"status": "pending", "checked": 0, "matched": 0, "reference": None},
    }
    assert {plugin["group"] for plugin in plugins} >= {"vllm_srun.families", "vllm_srun.engines"}
    assert all(set(plugin) == {"group", "name", "distribution", "version", "capabilities"} for plugin in plugins)


def test_a_loaded_classifier() -> None:
    head = HeadCard(
        name="default",
        kind="scores",
        labels=["a", "b"],
        inputs=["text"],
        thresholds=[0.5, 0.25],
        overflow="window",
        window=WindowCard(512, 64),
        reduction="max",
        operating_point_sha256="e" * 64,
    )
    card = loaded_card(heads=[head], question_types=[])
    card.pop("plugins")
    assert card == {
        "id": "letters-base",
        "object": "model",
        "created": 1772323200,
        "owned_by": "vllm-sr",
        "family": "task_heads",
        "repo": "acme/letters",
        "revision": "a" * 40,
        "model_sha256": "b" * 64,
        "manifest_sha256": "c" * 64,
        "surfaces": ["classify"],
        "limits": {"max_input_tokens": 512, "max_inputs": 2048},
        "parameters": 7,
        "dtype": "fp32",
        "question_types": [],
        "heads": [
            {
                "name": "default",
                "kind": "scores",
                "labels": ["a", "b"],
                "inputs": ["text"],
                "default_threshold": None,
                "thresholds": [0.5, 0.25],
                "overflow": "window",
                "window": {"tokens": 512, "overlap": 64},
                "reduction": "max",
                "operating_point_sha256": "e" * 64,
            }
        ],
        "licence": "apache-2.0",
        "engine_args": {"batching": "exact"},
        "numerics": "exact",
        "buckets": [],
        "profile": "exact",
        "profiles": [{"name": "exact", "numerics": "exact", "description": "as engine_args says"}],
        "engine": "jax",
        "accelerator": "cpu",
        "device": "cpu",
        "accelerator_validated": True,
        "ready": True,
        "status": "ready",
        "reason": None,
        "golden": {"status": "unverified", "checked": 0, "matched": 0, "reference": None},
    }


@pytest.mark.parametrize(
    ("members", "name", "expected"),
    [
        (
            {
                "embedding": EmbeddingCard(
                    dimensions=[768, 64], layers=[6, 22], modalities=["text"], normalized=True, pooling="mean",
                    input_types=["query"],
                )
            },
            "embedding",
            {
                "dimensions": [768, 64],
                "layers": [6, 22],
                "modalities": ["text"],
                "normalized": True,
                "pooling": "mean",
                "input_types": ["query"],
            },
        ),
        (
            {"rerank": RerankCard(exits=[ExitCard(2, 64), ExitCard(4, 64)], default=ExitCard(4, 64))},
            "rerank",
            {
                "exits": [{"layer": 2, "dimension": 64}, {"layer": 4, "dimension": 64}],
                "default": {"layer": 4, "dimension": 64},
            },
        ),
    ],
)  # fmt: skip
def test_parts_of_other_kinds(members: dict[str, Any], name: str, expected: dict[str, Any]) -> None:
    card = loaded_card(**members)
    assert card[name] == expected
    assert not {"embedding", "rerank"} - {name} & set(card)


def test_a_failed_model_falls_back_to_the_short_card() -> None:
    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        raise LookupError("no weights")

    card = card_of(Process([ModelEntry(model="acme/letters", family="task_heads")], load=load).up())
    assert (card["status"], card["reason"], card["ready"]) == ("failed", "LookupError: no weights", False)
    assert (card["family"], card["surfaces"]) == ("task_heads", [])
    assert "engine" not in card


def test_the_list_has_what_both_kinds_of_clients_read() -> None:
    process = Process([ENTRY, ModelEntry(model="acme/other", name="other")])
    before = process.service.model_list()
    assert before["models"] == []
    assert [card["id"] for card in before["data"]] == ["acme/letters", "other"]
    after = process.up().service.model_list()
    limits = Limits()
    assert {name: after[name] for name in ("object", "api_version", "limits")} == {
        "object": "list",
        "api_version": "2.3.0",
        "limits": {"max_bundle_tasks": limits.max_bundle_tasks, "max_request_bytes": limits.max_request_bytes},
    }
    assert [card["id"] for card in after["data"]] == ["letters-base", "other"]
    assert after["models"][1] == {
        "name": "other",
        "description": f"acme/letters (task_heads): {Surface.CLASSIFY}",
        "release_date": "2026-03-01",
    }
