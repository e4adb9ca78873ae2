"""The `token` head: entities as BIO spans (Vela 1.0 format, section 10.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import ItemError, Readout, Row
from vela_jax.families.task_heads.activations import softmax
from vela_jax.families.task_heads.classify import text_of
from vela_jax.families.task_heads.items import Failed, Item, Outputs, Planned, check_size
from vela_jax.families.task_heads.reading import Texts, read_single
from vela_jax.families.task_heads.settings import Settings
from vela_jax.surfaces.usage import ItemUsage
from vela_jax.text.bounds import Reading
from vela_jax.text.prefix import longest_prefix
from vela_jax.text.spans import decode_bio
from vela_jax.text.windows import Window, WindowError, owners, windows


@dataclass(frozen=True, slots=True)
class TokenHead:
    """A label for every token, joined to spans of the text."""

    kind: ClassVar[str] = "token"
    inputs: ClassVar[tuple[str, ...]] = ("text",)
    texts: Texts
    labels: tuple[str, ...]
    readout: Readout

    def plan(self, item: Any, settings: Settings) -> Item:
        """Read a text: whole, its longest prefix that fits, or in windows."""
        text = text_of(item)
        if text is None:
            return Failed(ItemError.INVALID_INPUT)
        reading = read_single(self.texts, text, settings.budget, settings.overflow)
        if isinstance(reading, Failed):
            return reading
        if settings.overflow == "window":
            return self._plan_windows(text, reading, settings)
        tokens = len(reading.ids) + self.texts.single.size
        if tokens > settings.budget:
            return self._plan_prefix(text, reading, settings)
        usage = ItemUsage(tokens, tokens)
        return self._planned(text, reading.ids, reading.offsets, usage, settings)

    def _plan_prefix(self, text: str, reading: Reading, settings: Settings) -> Item:
        size = self.texts.single.size
        prefix = longest_prefix(self.texts.tokenizer, text, reading.offsets, settings.budget - size)
        usage = ItemUsage(
            len(reading.ids) + size, prefix.encoded.count + size, truncated=True, lower_bound=not reading.complete
        )
        return self._planned(text, prefix.encoded.ids, prefix.encoded.offsets, usage, settings)

    def _planned(
        self, text: str, ids: NDArray[np.int32], offsets: NDArray[np.int32], usage: ItemUsage, settings: Settings
    ) -> Planned:
        row = Row(self.texts.single.frame(ids), self.readout)
        start, end = len(self.texts.single.prefix), len(self.texts.single.prefix) + len(ids)

        def finish(outputs: Outputs) -> dict[str, Any]:
            probabilities = softmax(outputs[0][start:end])
            return self._result(text, offsets, probabilities, usage, settings)

        return Planned((row,), usage, finish)

    def _plan_windows(self, text: str, reading: Reading, settings: Settings) -> Item:
        envelope = self.texts.single
        try:
            cuts = windows(len(reading.ids), *settings.window, envelope.size)
        except WindowError:
            return Failed(ItemError.INVALID_INPUT)
        check_size(len(cuts) * settings.window[0])
        tokens = len(reading.ids) + envelope.size
        usage = ItemUsage(tokens, tokens, windows=len(cuts))
        rows = tuple(Row(envelope.frame(reading.ids[cut.start : cut.end]), self.readout) for cut in cuts)

        def finish(outputs: Outputs) -> dict[str, Any]:
            probabilities = softmax(join_windows(cuts, outputs, len(reading.ids), len(envelope.prefix)))
            return self._result(text, reading.offsets, probabilities, usage, settings)

        return Planned(rows, usage, finish)

    def _result(
        self,
        text: str,
        offsets: NDArray[np.int32],
        probabilities: NDArray[np.float32],
        usage: ItemUsage,
        settings: Settings,
    ) -> dict[str, Any]:
        """Spans, usage and, if asked, every token; probabilities [S C]."""
        label_ids = probabilities.argmax(axis=1)
        best = np.take_along_axis(probabilities, label_ids[:, None], axis=1)[:, 0]
        spans = decode_bio(self.labels, label_ids, best, offsets, text, skip_empty=settings.overflow != "window")
        threshold = settings.threshold or 0.0
        result: dict[str, Any] = {
            "spans": [
                {
                    "label": span.label,
                    "start": span.start,
                    "end": span.end,
                    "text": text[span.start : span.end],
                    "probability": span.probability,
                }
                for span in spans
                if span.probability >= threshold
            ],
            "input": usage.to_json(),
        }
        if settings.return_tokens:
            result["tokens"] = token_rows(offsets, probabilities)
        return result


def join_windows(cuts: tuple[Window, ...], outputs: Outputs, count: int, prefix: int) -> NDArray[np.float32]:
    """One row of logits a content token, from the window in which the token lies most inward: [count C]."""
    chosen = owners(cuts, count)
    joined = np.empty((count, outputs[0].shape[1]), np.float32)
    for index, (cut, logits) in enumerate(zip(cuts, outputs, strict=True)):
        mine = np.flatnonzero(chosen[cut.start : cut.end] == index)
        joined[cut.start + mine] = logits[prefix + mine]
    return joined


def token_rows(offsets: NDArray[np.int32], probabilities: NDArray[np.float32]) -> list[dict[str, Any]]:
    """The `tokens` member: place and probabilities of every token."""
    rows = zip(offsets.tolist(), probabilities.tolist(), strict=True)
    return [{"start": start, "end": end, "probabilities": values} for (start, end), values in rows]
