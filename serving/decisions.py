"""Decisions on one state or several, as tasks: what is judged before and after the family (System One semantics, 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET

from serving.errors import ErrorCode, FailedQuestion, QuestionsFailed, RequestFailed
from serving.live import LiveModel, Outcome
from serving.models import ServedModel
from serving.task import Found, Meta, SurfaceTask, Task, answered, sum_usage
from vela_jax.contract import Answer, InputRefused, InvalidRequest, ItemError, Model, Plan, Result, Row, Surface
from vela_jax.surfaces.decisions import DecisionsBody, DecisionsOptions, Entry, read_entries
from vela_jax.surfaces.shown import shown_name
from vela_jax.systemone.assets import read_assets
from vela_jax.systemone.questions import question_type
from vela_jax.systemone.resolving import Failure, Resolver
from vela_jax.systemone.standard import read_standard, without_roles

FAILURES_SHOWN: Final = 64
INPUT_MALFORMED: Final = "input_malformed"


@dataclass(frozen=True, slots=True)
class Standard:
    """How a System One request is read beyond the internal form.

    `keys_are_roles` tells whether an object state without `roles` has its keys name its parts; `long_context` whether
    the request's header allows long inputs.
    """

    keys_are_roles: bool
    long_context: bool


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A family's plan, with the questions that failed before it was asked."""

    plan: Plan
    failures: Mapping[str, Failure]

    @property
    def rows(self) -> Sequence[Row]:
        """Those of the family."""
        return self.plan.rows

    def assemble(self, results: Sequence[Result]) -> Answer:
        """The family's answer, with the failures in their places."""
        answer = self.plan.assemble(results)
        for key, failure in self.failures.items():
            answer.body["answers"][key] = {
                "type": answer.body["answers"][key]["type"],
                "error": str(ItemError.INVALID_QUESTION),
                "message": failure.message,
                "reason": failure.reason,
            }
        return answer


class DecisionsTask:
    """A decisions request: internal form in place, or a System One request that fails whole."""

    def __init__(
        self, found: Found, parts: Mapping[str, bytes], taken: set[str], standard: Standard | None = None
    ) -> None:
        self.served: ServedModel = found.served
        self.live: LiveModel = found.live
        self.deadline: float | None = found.deadline
        self._body: DecisionsBody = found.request
        self._entries = read_entries(self._body)
        _check_count(len(self._entries), found.live.scheduler.max_jobs)
        assets = self._body.assets
        self._assets = {} if assets is UNSET else read_assets(assets, parts, taken)
        self._standard = standard

    @property
    def _options(self) -> DecisionsOptions:
        options = self._body.options
        if self._standard is not None and self._standard.long_context:
            return msgspec.structs.replace(options, long_context=True)
        return options

    def plan(self, model: Model) -> Sequence[Plan | Exception]:
        """One plan an entry; an entry whose media or tokens are refused fails alone if another one is not."""
        description = self.live.loaded.description
        resolver = Resolver(description, self._assets, standard=self._standard is not None)
        plans = [self._plan_entry(entry, resolver, model) for entry in self._entries.values()]
        refused = [plan for plan in plans if isinstance(plan, InputRefused)]
        if len(refused) == len(plans):
            raise refused[0]
        if not refused:  # what is refused was not read to its end
            resolver.check_used()
        return plans

    def _plan_entry(self, entry: Entry, resolver: Resolver, model: Model) -> Plan | InputRefused:
        if self._standard is not None:
            entry = read_standard(entry, resolver.description.presets or ())
            if not self._standard.keys_are_roles:
                entry = without_roles(entry)
        try:
            resolved = resolver.resolve(entry, self._options)
            plan = model.plan(Surface.DECISIONS, resolved.request)
        except InputRefused as refusal:
            return refusal
        return JudgedPlan(plan, resolved.failures) if resolved.failures else plan

    def finish(self, outcomes: Sequence[Outcome], meta: Meta) -> tuple[dict[str, Any], Answer]:
        """The body of the response in the form that was asked for. Raises when no question is valid, or one failed."""
        answers = {
            name: self._entry_answer(entry, outcome)
            for (name, entry), outcome in zip(self._entries.items(), outcomes, strict=True)
        }
        failed = list(_failed(answers))
        if self._standard is not None and failed:
            raise QuestionsFailed(failed, _listing(failed))
        if len(failed) == sum(len(entry.questions) for entry in self._entries.values()) and all(
            each.error == ItemError.INVALID_QUESTION for each in failed
        ):
            raise InvalidRequest(f"no question is valid: {_listing(failed)}")
        of_all = list(answers.values())
        counted = Answer(
            {},
            {},
            sum(answer.input_tokens for answer in of_all),
            tuple(outcome for answer in of_all for outcome in answer.question_outcomes),
        )
        return self._response(answers, meta), counted

    def _response(self, answers: Mapping[str | None, Answer], meta: Meta) -> dict[str, Any]:
        shared = {**meta(), **next(iter(answers.values())).meta} if self._body.options.return_meta else None
        bodies = {name: self._named(answer.body, shared) for name, answer in answers.items()}
        if None in bodies:
            return bodies[None]
        return self._named({"states": bodies, "usage": sum_usage([body["usage"] for body in bodies.values()])}, shared)

    def _named(self, body: Mapping[str, Any], meta: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"model": self.served.id, **body, **({} if meta is None else {"meta": meta})}

    def _entry_answer(self, entry: Entry, outcome: Outcome) -> Answer:
        """An answer; of a refused entry one in which every question fails by it."""
        if not isinstance(outcome, InputRefused):
            return answered(outcome)
        failure = {"error": str(ItemError.INVALID_INPUT), "message": str(outcome), "reason": INPUT_MALFORMED}
        answers = {key: {"type": question_type(question), **failure} for key, question in entry.questions.items()}
        outcomes = tuple((str(answer["type"]), str(ItemError.INVALID_INPUT)) for answer in answers.values())
        return Answer({"answers": answers, "usage": {"input_tokens": 0, "output_tokens": 0}}, {}, 0, outcomes)


def _check_count(states: int, most: int) -> None:
    """Refuse at once what could never be admitted."""
    if states > most:
        message = f"states holds {states} entries; this server takes at most {most} at once (max_queue)"
        raise RequestFailed(ErrorCode.REQUEST_TOO_LARGE, message, limit=most)


def task_of(
    surface: Surface, found: Found, parts: Mapping[str, bytes], taken: set[str], standard: Standard | None = None
) -> Task:
    """The task of a found model's request; `taken` gathers the parts of a multipart body that its assets name."""
    if surface is Surface.DECISIONS:
        return DecisionsTask(found, parts, taken, standard)
    return SurfaceTask(surface, found.served, found.live, found.request, found.deadline)


def _failed(answers: Mapping[str | None, Answer]) -> Iterator[FailedQuestion]:
    """The failed questions in the order of the request."""
    for name, answer in answers.items():
        for key, value in answer.body["answers"].items():
            if "error" in value:
                error = str(value["error"])
                yield FailedQuestion(name, key, error, str(value.get("message", error)), value.get("reason"))


def _listing(failed: Sequence[FailedQuestion]) -> str:
    """Each failed question with its reason; a long list is cut."""
    each = [
        f"{'' if question.state is None else shown_name(question.state) + '.'}{shown_name(question.question)}: "
        f"{question.message}"
        for question in failed[:FAILURES_SHOWN]
    ]
    more = [f"and {len(failed) - FAILURES_SHOWN} more"] if len(failed) > FAILURES_SHOWN else []
    return "; ".join(each + more)
