"""A model that reads one token a character, with given readouts instead of a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from vela_jax.contract import EXPIRED, Answer, Result, Row, Surface
from vela_jax.families.vela2.calibration import Anchor, Calibration, LevelSchema, NoulFit, SpanSchema, SparseGate
from vela_jax.families.vela2.encoder_layout import MARKERS, EncoderIds
from vela_jax.families.vela2.model import EncoderModel
from vela_jax.families.vela2.plan import DecisionsPlan
from vela_jax.families.vela2.spec import EncoderSpec
from vela_jax.heads.markers import MarkerConfig, MarkerReadout
from vela_jax.surfaces.decisions import DecisionsOptions
from vela_jax.surfaces.requests import DecisionsRequest
from vela_jax.text.tokenizer import TextTokenizer

CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n"]
FIRST = 16  # id of the first character
MARKER_IDS = {name: 200 + index for index, name in enumerate(MARKERS)}
SPECIAL = EncoderIds(2, 1, MARKER_IDS)
PII_TYPES = ("AGE", "EMAIL_ADDRESS", "PERSON")
CALIBRATION = Calibration(
    temperature={"choice": 1.3, "score": 1.1, "set": 1.05, "span": 0.4},
    thresholds={"set:*": 0.3, "set:own": 0.6, "span:*": 0.5, "span:toxic": 0.1, "span:halu": 0.55},
    pii_types=frozenset(PII_TYPES),
    length_rule=(Anchor(21, 0.75), Anchor(126, 0.05), Anchor(1022, 0.005919)),
    gate=SparseGate(3, 0.1, 0.5),
    span_presets={
        "pii": SpanSchema("Find people.", tuple((name, name.lower()) for name in PII_TYPES)),
        "halu": SpanSchema("Find claims.", (("unsupported", "no support"),)),
    },
    level_presets={"relevance": LevelSchema("How relevant?", (("low", "not at all"), ("high", "fully")))},
    noul=NoulFit(2.0, 0.25, default=False),
)
Judge = Callable[[Row], NDArray[np.float32]]


@cache
def tokenizer() -> TextTokenizer:
    """Ids of characters; one that is not known is id 15."""
    entries = {"<unk>": FIRST - 1, **{character: FIRST + index for index, character in enumerate(CHARACTERS)}}
    library = Tokenizer(models.WordLevel(entries, unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return TextTokenizer.from_json(library.to_str())


@cache
def model(limit: int = 256, overlap: int = 16, scan: int | None = None, platform: str = "cpu") -> EncoderModel:
    spec = EncoderSpec(
        head=MarkerConfig(64, 32, MarkerReadout.BOTH),
        special=SPECIAL,
        max_length=limit,
        window_overlap=overlap,
        calibration=CALIBRATION,
        max_scan_tokens=scan,
    )
    return EncoderModel(spec, tokenizer(), 4, 1000, platform)


def ids(text: str) -> list[int]:
    return [FIRST + CHARACTERS.index(character) for character in text]


def plan(
    questions: Mapping[str, Any], state: Any = "hi there", *, of: EncoderModel | None = None, **options: Any
) -> DecisionsPlan:
    members = {name: options.pop(name) for name in ("roles", "images") if name in options}
    request = DecisionsRequest(state=state, questions=dict(questions), options=DecisionsOptions(**options), **members)
    return (of or model()).plan(Surface.DECISIONS, request)


def zeros(row: Row) -> NDArray[np.float32]:
    """A readout that is indifferent to everything."""
    width = int(row.readout.name.rpartition(".")[2])
    return np.zeros((row.length, 1 + width), np.float32)


def answer(planned: DecisionsPlan, judge: Judge = zeros, late: frozenset[int] = frozenset()) -> Answer:
    """Assemble with what `judge` says of each row; rows numbered in `late` did not run."""
    results: list[Result] = [EXPIRED if index in late else judge(row) for index, row in enumerate(planned.rows)]
    return planned.assemble(results)


def ask(questions: Mapping[str, Any], state: Any = "hi there", judge: Judge = zeros, **options: Any) -> dict[str, Any]:
    return answer(plan(questions, state, **options), judge).body
