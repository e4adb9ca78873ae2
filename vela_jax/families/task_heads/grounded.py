"""The `grounded` head: parts of an answer that its context does not support (Vela 1.0 format, section 10.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import ItemError, Readout, Row
from vela_jax.families.task_heads.activations import softmax
from vela_jax.families.task_heads.items import Failed, Item, Outputs, Planned
from vela_jax.families.task_heads.reading import FramedPair, SharedText, Texts, read_pair
from vela_jax.families.task_heads.settings import Settings
from vela_jax.families.task_heads.spec import GroundedPolicy
from vela_jax.families.task_heads.token import token_rows
from vela_jax.text.spans import decode_runs

SUPPORTED = "supported"
MEMBERS = frozenset({"context", "question", "answer"})


@dataclass(frozen=True, slots=True)
class GroundedHead:
    """Every token of the answer is supported or not; runs of those that are not become spans."""

    kind: ClassVar[str] = "token"
    inputs: ClassVar[tuple[str, ...]] = ("grounded",)
    texts: Texts
    labels: tuple[str, ...]
    readout: Readout
    policy: GroundedPolicy

    def plan(self, item: Any, settings: Settings) -> Item:
        """Read context, question and answer; the answer is never cut."""
        if not is_grounded(item):
            return Failed(ItemError.INVALID_INPUT)
        prompt = self.policy.template.format(question=item.get("question", ""), context=item.get("context", ""))
        answer: str = item["answer"]
        pair = read_pair(self.texts, SharedText(self.texts, prompt), answer, settings.budget, settings.overflow)
        if isinstance(pair, Failed):
            return pair

        def finish(outputs: Outputs) -> dict[str, Any]:
            end = pair.second_start + len(pair.second.ids)
            return self._result(answer, pair, softmax(outputs[0][pair.second_start : end]), settings)

        return Planned((Row(pair.ids, self.readout),), pair.usage, finish)

    def _result(
        self, answer: str, pair: FramedPair, probabilities: NDArray[np.float32], settings: Settings
    ) -> dict[str, Any]:
        """Spans, usage and, if asked, every token of the answer; probabilities [S 2]."""
        positive = 1 - self.labels.index(SUPPORTED)
        threshold = self.policy.threshold if settings.threshold is None else settings.threshold
        label = self.labels[positive]
        spans = decode_runs(
            probabilities[:, positive], pair.second.offsets, threshold, strict=self.policy.strict, label=label
        )
        result: dict[str, Any] = {
            "spans": [
                {
                    "start": span.start,
                    "end": span.end,
                    "probability": span.probability,
                    "label": span.label,
                    "text": answer[span.start : span.end],
                }
                for span in spans
            ],
            "input": pair.usage.to_json(),
        }
        if settings.return_tokens:
            result["tokens"] = token_rows(pair.second.offsets, probabilities)
        return result


def is_grounded(item: Any) -> bool:
    """Whether an item has an answer that is not empty and otherwise at most a context and a question, all texts."""
    if not isinstance(item, dict) or set(item) - MEMBERS:
        return False
    return bool(item.get("answer")) and all(isinstance(value, str) for value in item.values())
