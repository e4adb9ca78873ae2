"""Asks a student as the server would, and fits the calibration on what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from bench.mini.calibration import Fitted, fit_temperature, fit_threshold
from bench.mini.measures import Figures, Tally
from bench.mini.student import MOST_LABELS, Student
from bench.mini.training.shapes import batches, padded
from vela_jax.contract import Row, Surface
from vela_jax.families.vela2.answers import Answerer, SpanLogits
from vela_jax.families.vela2.encoder_layout import EncoderIds
from vela_jax.families.vela2.model import EncoderModel
from vela_jax.families.vela2.plan import DecisionsPlan
from vela_jax.families.vela2.spec import EncoderSpec
from vela_jax.heads.markers import MarkerConfig, MarkerReadout
from vela_jax.surfaces.requests import DecisionsRequest
from vela_jax.text.tokenizer import TextTokenizer

Case = Mapping[str, Any]
Output = NDArray[np.float32]
ALARM_COST: Final = 0.5  # of a share of false alarms, against F1


@dataclass(frozen=True, slots=True)
class Asked:
    """A case with its plan and the student's outputs."""

    case: Case
    plan: DecisionsPlan
    outputs: Sequence[Output]


class Evaluation:
    """Asks one student."""

    def __init__(self, student: Student, tokenizer: TextTokenizer, special: EncoderIds) -> None:
        self._graphdef, self._params = nnx.split(student)
        self._forward = jax.jit(_forward, static_argnums=0)
        config = student.backbone.config
        head = MarkerConfig(config.hidden_size, student.head.w_o.weight[...].shape[0], MarkerReadout.BOTH)
        self._spec = EncoderSpec(
            head=head,
            special=special,
            max_length=config.max_position_embeddings,
            window_overlap=64,
            calibration=Fitted().calibration(),
        )
        self._model = EncoderModel(self._spec, tokenizer, config.num_hidden_layers, 0, "cpu")

    def ask(self, cases: Sequence[Case]) -> list[Asked]:
        """Plan and run all cases."""
        plans = [self._plan(case) for case in cases]
        rows = [row for plan in plans for row in plan.rows]
        outputs = iter(self._run(rows))
        return [Asked(case, plan, [next(outputs) for _ in plan.rows]) for case, plan in zip(cases, plans, strict=True)]

    def _plan(self, case: Case) -> DecisionsPlan:
        request = case["request"]
        return self._model.plan(
            Surface.DECISIONS, DecisionsRequest(state=request["state"], questions=request["questions"])
        )

    def _run(self, rows: Sequence[Row]) -> list[Output]:
        found: list[Output] = [np.zeros((0, 0), np.float32)] * len(rows)
        for shape in batches([row.length for row in rows]):
            chosen = [rows[index] for index in shape.indices]
            ids, lengths = padded([row.ids for row in chosen], shape)
            marks = np.zeros((shape.count, 4, shape.width), np.int32)
            for place, row in enumerate(chosen):
                assert row.marks is not None
                marks[place, :, : row.length] = row.marks
            out = np.asarray(self._forward(self._graphdef, self._params, ids, lengths, marks))
            for place, index in enumerate(shape.indices):
                found[index] = out[place, : rows[index].length]
        return found


def judge(asked: Sequence[Asked], fitted: Fitted) -> Figures:
    """The figures of answers under a calibration."""
    tally = Tally()
    answerer = Answerer(fitted.calibration())
    for each in asked:
        body = replace(each.plan, answerer=answerer).assemble(each.outputs).body
        for question, expect in each.case["expect"].items():
            tally.add(expect, body, question)
    return tally.figures()


def fit(asked: Sequence[Asked]) -> Fitted:
    """Temperatures by likelihood, thresholds by F1; of spans less what false alarms cost."""
    logits = _Logits(asked)
    of_sets, of_spans = (_expecting(asked, member) for member in ("set", "spans"))
    temperature = {"choice": fit_temperature(logits.choices), "score": 1.0, "set": 1.0, "span": 1.0}

    def sets(threshold: float) -> float:
        return judge(of_sets, Fitted(temperature, threshold)).set_f1

    def spans(threshold: float) -> float:
        figures = judge(of_spans, Fitted(temperature, 0.5, threshold))
        return figures.span_f1 - ALARM_COST * figures.false_alarms

    return Fitted(temperature, fit_threshold(sets), fit_threshold(spans))


def _expecting(asked: Sequence[Asked], member: str) -> list[Asked]:
    """The cases that ask for one kind of answer."""
    return [each for each in asked if any(member in want for want in each.case["expect"].values())]


@dataclass(frozen=True)
class _Logits:
    """The logits of answered questions with their right options."""

    asked: Sequence[Asked]

    @cached_property
    def choices(self) -> list[tuple[list[float], int]]:
        """Of choices and nouls, which share a temperature."""
        found = []
        for each in self.asked:
            start = 0
            for reading in each.plan.readings:
                end = start + len(reading.rows)
                logits = reading.logits(each.outputs[start:end])
                start = end
                for question in reading.asked:
                    gold = _gold(each.case["expect"].get(question.id, {}), [name for name, _ in question.options])
                    values = logits[question.id]
                    if gold is not None and not isinstance(values, SpanLogits):
                        found.append((values.tolist()[: len(question.options)], gold))
        return found


def _gold(expect: Mapping[str, Any], names: Sequence[str]) -> int | None:
    if "choice" in expect:
        return names.index(expect["choice"])
    return int(expect["noul"]) if "noul" in expect else None


def _forward(graphdef: Any, params: Any, ids: jax.Array, lengths: jax.Array, marks: jax.Array) -> jax.Array:
    """Option logits of all tokens, then their logits against labels [B S 1+S], as the family reads them."""
    student: Student = nnx.merge(graphdef, params)
    hidden = student.hidden(ids, lengths)
    segment, pool, query, labels = (marks[:, kind] for kind in range(4))
    options = student.head.options(hidden, segment, pool, query)
    return jnp.concatenate([options[:, :, None], student.head.labels(hidden, labels[:, :MOST_LABELS])], axis=-1)
