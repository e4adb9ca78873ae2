"""Heads that read one pooled row: `sequence` (one label of several) and `scores` (each label by itself)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import ItemError, Readout, Row
from vela_jax.families.task_heads.activations import sigmoid, softmax
from vela_jax.families.task_heads.classify import text_of
from vela_jax.families.task_heads.items import Failed, Item, Outputs, Planned, check_size
from vela_jax.families.task_heads.reading import SharedText, Texts, read_pair, read_single
from vela_jax.families.task_heads.settings import Settings
from vela_jax.families.task_heads.spec import OperatingPoint
from vela_jax.surfaces.usage import ItemUsage
from vela_jax.text.windows import Window, WindowError, windows

PREMISE_ROOM: Final = 1  # a pair keeps room for one token of its first text
Values = list[NDArray[np.float32]]
Finish = Callable[[ItemUsage, tuple[Window, ...] | None, Outputs], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SequenceHead:
    """One label of several: softmax over the labels, per-label maximum over windows."""

    kind: ClassVar[str] = "sequence"
    inputs: ClassVar[tuple[str, ...]] = ("text", "pair")
    texts: Texts
    labels: tuple[str, ...]
    readout: Readout

    def plan(self, item: Any, settings: Settings) -> Item:
        """Read a text or, except in windows, a pair."""
        if isinstance(item, dict) and set(item) == {"text", "text_pair"}:
            return self._plan_pair(item["text"], item["text_pair"], settings)
        return plan_text(self.texts, self.readout, item, settings, self._finish)

    def _plan_pair(self, first: Any, second: Any, settings: Settings) -> Item:
        if not is_pair(first, second) or settings.overflow == "window":
            return Failed(ItemError.INVALID_INPUT)
        pair = read_pair(
            self.texts, SharedText(self.texts, first), second, settings.budget, settings.overflow, reserved=PREMISE_ROOM
        )
        if isinstance(pair, Failed):
            return pair
        usage = pair.usage
        return Planned((Row(pair.ids, self.readout),), usage, lambda outputs: self._finish(usage, None, outputs))

    def _finish(self, usage: ItemUsage, cuts: tuple[Window, ...] | None, outputs: Outputs) -> dict[str, Any]:
        values = [softmax(logits) for logits in outputs]
        reduced = np.max(values, axis=0)
        return {
            "input": usage.to_json(),
            **windows_member("probabilities", cuts, values),
            "probabilities": reduced.tolist(),
            "label": self.labels[int(reduced.argmax())],
        }


@dataclass(frozen=True, slots=True)
class ScoresHead:
    """Each label by itself: sigmoids, and the labels that reach their packaged threshold."""

    kind: ClassVar[str] = "scores"
    inputs: ClassVar[tuple[str, ...]] = ("text",)
    texts: Texts
    labels: tuple[str, ...]
    readout: Readout
    point: OperatingPoint | None

    def plan(self, item: Any, settings: Settings) -> Item:
        """Read a text."""
        return plan_text(self.texts, self.readout, item, settings, self._finish)

    def _finish(self, usage: ItemUsage, cuts: tuple[Window, ...] | None, outputs: Outputs) -> dict[str, Any]:
        values = [sigmoid(logits) for logits in outputs]
        scores: list[float] = np.max(values, axis=0).tolist()
        result = {"input": usage.to_json(), **windows_member("scores", cuts, values), "scores": scores}
        if self.point is not None:
            result["selected"] = select(self.labels, scores, self.point)
        return result


def select(labels: tuple[str, ...], scores: list[float], point: OperatingPoint) -> list[str]:
    """Labels whose score passes its threshold, in label order."""
    passes = float.__gt__ if point.strict else float.__ge__
    rows = zip(labels, scores, point.thresholds, strict=True)
    return [label for label, score, threshold in rows if passes(score, threshold)]


def is_pair(first: Any, second: Any) -> bool:
    """Whether both are texts that are not blank."""
    return isinstance(first, str) and isinstance(second, str) and bool(first.strip()) and bool(second.strip())


def plan_text(texts: Texts, readout: Readout, item: Any, settings: Settings, finish: Finish) -> Item:
    """Read one text: whole, cut after the tokens that fit, or in windows."""
    text = text_of(item)
    if text is None:
        return Failed(ItemError.INVALID_INPUT)
    reading = read_single(texts, text, settings.budget, settings.overflow)
    if isinstance(reading, Failed):
        return reading
    tokens = len(reading.ids) + texts.single.size
    if settings.overflow == "window":
        return _plan_windows(texts, readout, reading.ids, settings, finish)
    kept = reading.ids[: settings.budget - texts.single.size]
    processed = len(kept) + texts.single.size
    usage = ItemUsage(tokens, processed, truncated=processed < tokens, lower_bound=not reading.complete)
    row = Row(texts.single.frame(kept), readout)
    return Planned((row,), usage, lambda outputs: finish(usage, None, outputs))


def _plan_windows(texts: Texts, readout: Readout, ids: NDArray[np.int32], settings: Settings, finish: Finish) -> Item:
    try:
        cuts = windows(len(ids), *settings.window, texts.single.size)
    except WindowError:
        return Failed(ItemError.INVALID_INPUT)
    check_size(len(cuts) * settings.window[0])
    tokens = len(ids) + texts.single.size
    usage = ItemUsage(tokens, tokens, windows=len(cuts))
    rows = tuple(Row(texts.single.frame(ids[cut.start : cut.end]), readout) for cut in cuts)
    return Planned(rows, usage, lambda outputs: finish(usage, cuts, outputs))


def windows_member(name: str, cuts: tuple[Window, ...] | None, values: Values) -> dict[str, Any]:
    """The `windows` member: each window's place in content tokens and its own values."""
    if cuts is None:
        return {}
    pairs = zip(cuts, values, strict=True)
    return {"windows": [{"start": cut.start, "end": cut.end, name: row.tolist()} for cut, row in pairs]}
