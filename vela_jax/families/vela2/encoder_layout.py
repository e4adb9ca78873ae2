"""How the encoder member lays out a sequence, and where it is read (Vela 2.0 format, section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.contract import Readout, Row
from vela_jax.families.vela2.network import MARKS, readout_name, readout_width
from vela_jax.families.vela2.parts import ROLES
from vela_jax.families.vela2.questions import Asked
from vela_jax.families.vela2.texts import Pieces
from vela_jax.heads.markers import POOLS

MARKERS: Final = ("[Q]", "[O]", "[ABS]", "[SEP_SCHEMA]", "[SEG_user]", "[SEG_answer]", "[E]", "[SEG_context]")
Ids = NDArray[np.int32]
Window = tuple[int, int]
"""Tokens of a part: from, up to and not including."""


@dataclass(frozen=True, slots=True)
class EncoderIds:
    """Ids of the special tokens."""

    bos: int
    eos: int
    markers: Mapping[str, int]  # by name


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The questions of a row as tokens, from `<bos>` up to `[SEP_SCHEMA]`, with the places to read."""

    ids: Ids  # [S]
    options: Mapping[str, Ids]  # places of each question's options, `[ABS]` last, by question ID
    marks: NDArray[np.int32]  # [O 3], of each option: its place, its range of parts, its question's place
    labels: Ids  # [E], places of the labels


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """A sequence, its columns of logits, and where the first token of each part stands in it."""

    row: Row
    columns: int
    starts: Mapping[str, int]  # by role


class EncoderLayout:
    """Lays out the sequences of one model."""

    def __init__(self, special: EncoderIds, pieces: Pieces, depth: int) -> None:
        self._special = special
        self._pieces = pieces
        self._depth = depth

    def cost(self, asked: Asked) -> int:
        """Tokens that a question adds to a sequence; of a span, its labels."""
        options = sum(1 + len(self._pieces.ids(text)) for text in _option_texts(asked))
        if asked.kind == "span":
            return options
        return 1 + len(self._pieces.ids(asked.text)) + options + asked.abstains

    def schema(self, asked: Sequence[Asked]) -> Schema:
        """Lay out questions in request order, then the labels of the span among them, if there is one."""
        markers = self._special.markers
        runs: list[Ids] = [_one(self._special.bos)]
        places: dict[str, list[int]] = {}
        marks: list[tuple[int, int, int]] = []  # (place, range, place of the question's marker)
        length = 1
        for question in (each for each in asked if each.kind != "span"):
            start = length
            runs += [_one(markers["[Q]"]), self._pieces.ids(question.text)]
            length += 1 + len(runs[-1])
            places[question.id] = []
            for text in _option_texts(question):
                places[question.id].append(length)
                runs += [_one(markers["[O]"]), self._pieces.ids(text)]
                length += 1 + len(runs[-1])
            if question.abstains:
                places[question.id].append(length)
                runs.append(_one(markers["[ABS]"]))
                length += 1
            marks += [(place, _range_of(question.roles), start) for place in places[question.id]]
        labels = []
        for question in (each for each in asked if each.kind == "span"):
            for text in _option_texts(question):
                labels.append(length)
                runs += [_one(markers["[E]"]), self._pieces.ids(text)]
                length += 1 + len(runs[-1])
        runs.append(_one(markers["[SEP_SCHEMA]"]))
        return Schema(
            np.concatenate(runs),
            {key: np.array(found, np.int32) for key, found in places.items()},
            np.array(marks, np.int32).reshape(-1, 3),
            np.array(labels, np.int32),
        )

    def sequence(self, schema: Schema, parts: Mapping[str, Ids]) -> Laid:
        """Put the kept tokens of the parts, by role in part order, behind a schema."""
        runs = [schema.ids]
        starts: dict[str, int] = {}
        length = len(schema.ids)
        for role, ids in parts.items():
            starts[role] = length
            runs += [_one(self._special.markers[f"[SEG_{role}]"]), ids]
            length += 1 + len(ids)
        ids = np.concatenate([*runs, _one(self._special.eos)])
        marks = np.zeros((len(MARKS), len(ids)), np.int32)
        for role, start in starts.items():
            marks[0, start : start + 1 + len(parts[role])] = ROLES.index(role) + 1
        marks[1, schema.marks[:, 0]] = schema.marks[:, 1]
        marks[2, schema.marks[:, 0]] = schema.marks[:, 2]
        marks[3, : len(schema.labels)] = schema.labels
        width = readout_width(len(schema.labels))
        readout = Readout(readout_name(width), self._depth, per_token=True)
        return Laid(Row(ids, readout, marks), 1 + width, {role: start + 1 for role, start in starts.items()})


def window_plan(total: int, kept: int, overlap: int) -> list[Window]:
    """Windows of `kept` tokens over a part of `total`, which share about `overlap` (section 5.4)."""
    shared = min(overlap, kept // 4)
    stride = max(1, kept - shared)
    windows = []
    for start in range(0, max(1, total - shared), stride):
        windows.append((start, min(total, start + kept)))
        if windows[-1][1] >= total:
            break
    return windows


def _option_texts(asked: Asked) -> list[str]:
    return [f"{name}: {description}" if description else name for name, description in asked.options]


def _range_of(roles: Sequence[str]) -> int:
    """The range of parts from the first to the last of the roles."""
    return POOLS.index((ROLES.index(roles[0]) + 1, ROLES.index(roles[-1]) + 1))


def _one(token: int) -> Ids:
    return np.array([token], np.int32)
