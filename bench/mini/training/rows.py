"""From a labelled request to a row of the network with its targets, through the layout that the server uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.mini.student import MOST_LABELS
from bench.mini.tasks.example import Ask, Example
from bench.mini.training.shapes import WIDTHS
from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.encoder_layout import EncoderIds, EncoderLayout
from vela_jax.families.vela2.parts import read_state
from vela_jax.families.vela2.questions import Asked, QuestionReader
from vela_jax.families.vela2.texts import PartTokens, Pieces, read_parts
from vela_jax.text.tokenizer import TextTokenizer

KINDS: Final = ("choice", "noul", "score", "set", "span")
MOST_OPTIONS: Final = 12
NOT_A_WORD: Final = -2
NO_LABEL: Final = -1
_SPREAD: Final = 0.15  # of a level's weight that goes to its neighbours
_PLAIN: Final = Calibration(
    temperature=MappingProxyType({}),
    thresholds=MappingProxyType({"set:*": 0.5, "span:*": 0.5}),
    span_presets=MappingProxyType({}),
    level_presets=MappingProxyType({}),
)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A row and what its outputs should be. K is MOST_OPTIONS."""

    ids: NDArray[np.int32]  # [S]
    marks: NDArray[np.int32]  # [4 S]
    kind: int  # index into KINDS
    places: NDArray[np.int32]  # [K], of the options, `[ABS]` behind them
    wanted: NDArray[np.float32]  # [K], probabilities; of a set 0 or 1; -1 where there is no option
    words: NDArray[np.int32]  # [S], at the first token of a word its label or NO_LABEL, else NOT_A_WORD
    labels: int
    texts: tuple[str, ...]  # of the state, then of each option or of a noul; empty: nothing to learn from the teacher


class RowMaker:
    """Lays out examples for one tokenizer, in at most `most` tokens. Only the first question of each is read."""

    def __init__(self, tokenizer: TextTokenizer, special: EncoderIds, most: int = WIDTHS[-1]) -> None:
        self._most = most
        self._pieces = Pieces(tokenizer, most)
        self._pieces.reader.check()
        self._layout = EncoderLayout(special, self._pieces, 1)
        self._reader = QuestionReader(_PLAIN)

    def make(self, example: Example) -> Target | None:
        """The row of an example; None when it is too long, or has more options than are trained with."""
        ask = example.asks[0]
        state = read_state(example.state)
        asked = self._reader.read("q", dict(ask.raw), state)
        most = MOST_LABELS if ask.kind == "span" else MOST_OPTIONS - 1
        if len(asked.options) > most:
            return None
        schema = self._layout.schema([asked])
        parts = read_parts(self._pieces, state.parts, self._most)
        laid = self._layout.sequence(schema, {role: part.ids for role, part in parts.items()})
        assert laid.row.marks is not None
        if laid.row.length > self._most:
            return None
        places = schema.options.get("q", np.zeros(0, np.int32))
        words = np.full(laid.row.length, NOT_A_WORD, np.int32)
        if ask.kind == "span":
            (role,) = asked.roles
            _label_words(words, parts[role], laid.starts[role], ask)
        return Target(
            ids=laid.row.ids,
            marks=laid.row.marks,
            kind=KINDS.index(ask.kind),
            places=np.pad(places, (0, MOST_OPTIONS - len(places))).astype(np.int32),
            wanted=_wanted(ask, len(places)),
            words=words,
            labels=len(schema.labels),
            texts=_texts(ask, asked, state.parts),
        )


def _wanted(ask: Ask, count: int) -> NDArray[np.float32]:
    """What options should get; `count` places, of which the last is the one that abstains for choices and nouls."""
    wanted = np.full(MOST_OPTIONS, -1.0, np.float32)
    gold: Any = ask.gold
    match ask.kind:
        case "choice":
            wanted[:count] = 0.0
            wanted[count - 1 if gold == -1 else gold] = 1.0
        case "noul":
            wanted[: count - 1] = 0.0
            wanted[gold] = 1.0
        case "set":
            wanted[:count] = 0.0
            wanted[list(gold)] = 1.0
        case "score":
            wanted[:count] = 0.0
            near = [level for level in (gold - 1, gold + 1) if 0 <= level < count]
            wanted[near] = _SPREAD / len(near)
            wanted[gold] = 1.0 - _SPREAD
    return wanted


def _label_words(words: NDArray[np.int32], part: PartTokens, start: int, ask: Ask) -> None:
    """Note the label of every word: that of the mark which holds the word's first character."""
    found = part.words()
    marks: Sequence[Any] = ask.gold  # type: ignore[assignment]
    for (begin, _), first in zip(found.spans.tolist(), found.first.tolist(), strict=True):
        label = next((ask.keys.index(name) for name, low, high in marks if low <= begin < high), NO_LABEL)
        words[start + first] = label


def _texts(ask: Ask, asked: Asked, parts: Mapping[str, str]) -> tuple[str, ...]:
    if set(parts) != {"user"}:
        return ()
    if ask.kind == "noul":
        return (parts["user"], str(ask.raw["instructions"]))
    if ask.kind not in ("choice", "set"):
        return ()
    options = [f"{name}: {text}" if text else name for name, text in asked.options]
    return (parts["user"], *(option.replace("_", " ") for option in options))
