"""What the loader makes of the check: the card's counts, no second attempt, other models that serve."""

from __future__ import annotations

from typing import Any

from checkpoints.golden import Expected, Reference
from serving.config import ModelEntry
from serving.loaded import LoadedModel, Report
from tests.serving.fakes import Process, load_letters

REFERENCES = {
    "sound": Reference("letters@1", {"texts": Expected({})}),
    "unsound": Reference("letters@2", {"texts": Expected({"0.scores.a": 1.0})}),
    "unknown": None,
}


def test_a_model_is_judged_by_its_reference() -> None:
    loads: list[str] = []

    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        loads.append(entry.label)
        return load_letters(reference=REFERENCES[entry.label])

    process = Process([ModelEntry(model=f"acme/{name}", name=name) for name in REFERENCES], load=load).up()
    found: dict[str, Any] = {card["id"]: card for card in process.service.model_cards()}
    assert {name: card["golden"] for name, card in found.items()} == {
        "sound": {"status": "matched", "checked": 2, "matched": 2, "reference": "letters@1"},
        "unsound": {"status": "failed", "checked": 2, "matched": 0, "reference": "letters@2"},
        "unknown": {"status": "unverified", "checked": 0, "matched": 0, "reference": None},
    }
    assert [card["ready"] for card in found.values()] == [True, False, True]
    assert found["unsound"]["reason"] == (
        "GoldenCheckFailed: readiness request 'texts': 0.scores.a is missing, expected 1 (reference letters@2)"
    )
    assert loads == list(REFERENCES)
    status, body = process.service.health()
    assert (status, body["status"]) == (503, "degraded")
    assert process.service.liveness()["status"] == "alive"
