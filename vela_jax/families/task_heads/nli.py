"""`/v1/decisions` on an entailment model: questions become hypotheses about the state (Vela 1.0 format, section 11)."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import UNSET

from vela_jax.contract import Answer, InvalidRequest, ItemError, Readout, Result, Row
from vela_jax.families.task_heads.items import Failed, Outputs, check_size, is_too_late, judge
from vela_jax.families.task_heads.reading import SharedText, Texts, read_pair
from vela_jax.families.task_heads.sequence import PREMISE_ROOM
from vela_jax.surfaces.requests import DecisionsRequest
from vela_jax.systemone.json_values import content_text, is_content
from vela_jax.systemone.questions import (
    Choice,
    InvalidQuestion,
    Noul,
    check_question_ids,
    question_type,
    read_question,
)
from vela_jax.systemone.standard import CHOOSE

QUESTION_TYPES = ("choice", "noul")
MAX_HYPOTHESES = 2048
_BINARY = frozenset({"entailment", "not_entailment"})
_TERNARY = frozenset({"entailment", "contradiction", "neutral"})


def entailment_index(labels: tuple[str, ...]) -> int | None:
    """Index of the entailment label if the labels are those of an entailment model."""
    folded = [label.casefold() for label in labels]
    if len(set(folded)) != len(folded) or set(folded) not in (_BINARY, _TERNARY):
        return None
    return folded.index("entailment")


@dataclass(frozen=True, slots=True)
class Refused:
    """A question without an answer; `tokens` is what it adds to the usage."""

    kind: str | None
    error: ItemError
    message: str | None = None
    tokens: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that runs: one row a hypothesis."""

    question: Choice | Noul
    rows: tuple[Row, ...]
    tokens: int

    @property
    def kind(self) -> str:
        """The type that its answer reports."""
        return _kind_of(self.question)


@dataclass(frozen=True, slots=True)
class DecisionsPlan:
    """A read request; questions in request order."""

    questions: dict[str, Refused | Asked]
    entailment: int

    @property
    def rows(self) -> Sequence[Row]:
        """Rows of all questions, in order."""
        return [row for asked in self.questions.values() if isinstance(asked, Asked) for row in asked.rows]

    def assemble(self, results: Sequence[Result]) -> Answer:
        """Answers under their question IDs, failures in place."""
        answers: dict[str, Any] = {}
        start = 0
        for key, question in self.questions.items():
            if isinstance(question, Asked):
                end = start + len(question.rows)
                answers[key] = self._answer(question, judge(results[start:end]))
                start = end
            else:
                answers[key] = _failure(question.kind, question.error, question.message, question.reason)
        tokens = sum(question.tokens for question in self.questions.values())
        body = {"answers": answers, "usage": {"input_tokens": tokens, "output_tokens": 0}}
        outcomes = tuple((str(answer["type"]), str(answer.get("error", "answered"))) for answer in answers.values())
        return Answer(body, {}, tokens, outcomes)

    def _answer(self, asked: Asked, outputs: Outputs | ItemError) -> dict[str, Any]:
        if isinstance(outputs, ItemError):
            return _failure(asked.kind, outputs)
        if isinstance(asked.question, Noul):
            answer = {"type": "noul", "noul": _softmax(outputs[0])[self.entailment]}
        else:
            answer = self._choice(asked.question, outputs)
        if asked.question.require_full_input:
            answer["input_coverage"] = "complete"
        return answer

    def _choice(self, question: Choice, outputs: Outputs) -> dict[str, Any]:
        """Softmax of the entailment logits across the options."""
        logits = np.array([logits[self.entailment] for logits in outputs], np.float32)
        probabilities = _softmax(logits)
        keys = [key for key, _ in question.options]
        return {
            "type": "choice",
            "choice": keys[probabilities.index(max(probabilities))],
            "probabilities": dict(zip(keys, probabilities, strict=True)),
            "confidence": entropy_confidence(probabilities),
        }


def plan_decisions(
    request: DecisionsRequest, texts: Texts, readout: Readout, entailment: int, limit: int
) -> DecisionsPlan:
    """Read the state once as the premise and every question as one or more hypotheses."""
    if request.options.max_tokens is not UNSET:
        raise InvalidRequest("options.max_tokens: this model reads no windows and has no scan budget")
    check_question_ids(request.questions)
    premise = SharedText(texts, _premise(request.state))
    read = {key: _read(raw) for key, raw in request.questions.items()}
    _check_count(read)
    questions: dict[str, Refused | Asked] = {}
    tokens = 0
    for key, entry in read.items():
        if isinstance(entry, Refused):
            questions[key] = entry
        elif is_too_late(tokens):
            questions[key] = Refused(_kind_of(entry), ItemError.DEADLINE_EXCEEDED)
        else:
            questions[key] = _ask(entry, premise, texts, readout, limit)
        tokens += questions[key].tokens
        check_size(tokens)
    return DecisionsPlan(questions, entailment)


def hypotheses(question: Choice | Noul) -> list[str]:
    """One text an option, or the single text of a noul."""
    if isinstance(question, Noul):
        return [content_text(question.instructions if question.true is None else question.true)]
    texts = []
    for key, description in question.options:
        label = key if description is None else content_text(description)
        texts.append(label if question.instructions == CHOOSE else question.instructions.format(label=label))
    return texts


def entropy_confidence(probabilities: Sequence[float]) -> float:
    """1 - H / ln n within [0, 1], H the natural entropy."""
    entropy = -sum(value * math.log(value) for value in probabilities if value > 0)
    return min(1.0, max(0.0, 1.0 - entropy / math.log(len(probabilities))))


def _kind_of(question: Choice | Noul) -> str:
    return "choice" if isinstance(question, Choice) else "noul"


def _premise(state: Any) -> str:
    if not is_content(state):
        raise InvalidRequest("state must be text that is not blank, an object or an array of JSON values")
    return content_text(state)


def _read(raw: Any) -> Choice | Noul | Refused:
    try:
        question = read_question(raw, QUESTION_TYPES)
        assert isinstance(question, Choice | Noul)  # the types asked for
        _check_form(question)
    except InvalidQuestion as error:
        return Refused(question_type(raw), ItemError.INVALID_QUESTION, str(error), reason=error.reason)
    return question


def _check_form(question: Choice | Noul) -> None:
    """What an entailment model asks of a question beyond the shared checks."""
    if not isinstance(question.instructions, str):
        raise InvalidQuestion("instructions must be text: this model reads them as a hypothesis")
    if isinstance(question, Noul) and question.false is not None:
        raise InvalidQuestion("criteria.false: this model reads a noul by its true outcome alone")
    if isinstance(question, Choice) and question.instructions != CHOOSE and not _has_one_label(question.instructions):
        raise InvalidQuestion("instructions of a choice must hold the placeholder {label} exactly once, and no other")


def _has_one_label(template: str) -> bool:
    try:
        fields = [field[1:] for field in string.Formatter().parse(template) if field[1] is not None]
    except ValueError:
        return False
    return fields == [("label", "", None)]


def _check_count(read: dict[str, Choice | Noul | Refused]) -> None:
    count = sum(len(entry.options) if isinstance(entry, Choice) else 1 for entry in read.values())
    if count > MAX_HYPOTHESES:
        raise InvalidRequest(f"questions make {count} hypotheses; a request may make {MAX_HYPOTHESES}")


def _ask(question: Choice | Noul, premise: SharedText, texts: Texts, readout: Readout, limit: int) -> Asked | Refused:
    """Frame every hypothesis behind the premise; one that is too long fails the whole question."""
    rows = []
    for hypothesis in hypotheses(question):
        if not hypothesis.strip():
            raise InvalidRequest("a question's hypothesis is blank; instructions and descriptions need visible text")
        pair = read_pair(texts, premise, hypothesis, limit, "reject", reserved=PREMISE_ROOM)
        if isinstance(pair, Failed):
            return Refused(_kind_of(question), pair.error, f"state and hypothesis exceed {limit} tokens", pair.tokens)
        rows.append(Row(pair.ids, readout))
    return Asked(question, tuple(rows), sum(row.length for row in rows))


def _softmax(logits: np.ndarray[Any, np.dtype[np.float32]]) -> list[float]:
    wide = logits.astype(np.float64)
    powers = np.exp(wide - wide.max())
    probabilities: list[float] = (powers / powers.sum()).tolist()
    return probabilities


def _failure(
    kind: str | None, error: ItemError, message: str | None = None, reason: str | None = None
) -> dict[str, Any]:
    failed: dict[str, Any] = {"type": kind, "error": str(error)}
    if message is not None:
        failed["message"] = message
    if reason is not None:
        failed["reason"] = reason
    return failed
