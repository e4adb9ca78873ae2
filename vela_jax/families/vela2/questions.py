"""From a raw question to what the model is asked: options in its own form, parts that it reads (Vela 2.0 format,
section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vela_jax.contract import ItemError
from vela_jax.families.vela2.calibration import Calibration
from vela_jax.families.vela2.parts import KNOWN_KEYS, ROLES, Field, State
from vela_jax.surfaces.shown import shown, shown_name
from vela_jax.systemone.json_values import content_text
from vela_jax.systemone.questions import (
    Choice,
    Described,
    InvalidQuestion,
    Labelled,
    Noul,
    Question,
    Score,
    check_members,
    check_object,
    question_type,
    read_question,
)

TYPES: Final = ("choice", "noul", "score", "set", "span")
HEADS: Final = ("router", "broad")
_SHARED: Final = frozenset({"over", "preset", "overflow"})
FURTHER: Final[Mapping[str, frozenset[str]]] = {
    "choice": _SHARED,
    "noul": _SHARED,
    "score": _SHARED,
    "set": _SHARED | {"threshold"},
    "span": _SHARED | {"threshold", "head"},
}
"""Members of this family beside those of all families."""
_PRESET: Final = frozenset({"preset", "type", "over", "overflow", "require_full_input"})
_DEFAULT_NO: Final = "No. The statement or question is not satisfied."
_DEFAULT_YES: Final = "Yes. The statement or question is satisfied."

Options = tuple[tuple[str, str], ...]
"""(name, description) in request order; the description may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A valid question."""

    id: str
    kind: str  # choice, noul, score, set or span
    text: str
    options: Options  # labels of a set or span
    legend: tuple[str, ...] = ()  # of a score, by level
    roles: tuple[str, ...]  # parts that it reads, in order
    clip: Field | None = None  # of a span over one state key
    key: str  # calibration key
    threshold: float | None = None
    head: str | None = None
    truncate: bool = False
    full: bool = False  # every part must be read whole

    @property
    def engine_kind(self) -> str:
        """The type by which temperatures are kept and the model is asked."""
        return "choice" if self.kind == "noul" else self.kind

    @property
    def abstains(self) -> bool:
        """Whether the model is offered an option that none applies."""
        return self.engine_kind == "choice"


@dataclass(frozen=True, slots=True)
class Refused:
    """A question without an answer. `kind` is the type that its answer reports."""

    kind: Any
    error: ItemError
    message: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Reads the questions of one model."""

    calibration: Calibration
    heads: Sequence[str] = HEADS[:1]  # span heads that the model has

    def read_all(self, raws: Mapping[str, Any], state: State) -> dict[str, Asked | Refused]:
        """Read every question of a request; one that is invalid fails alone."""
        read = {key: self._read(key, raw, state) for key, raw in raws.items()}
        return {key: _refuse_collision(entry, raws) for key, entry in read.items()}

    def _read(self, key: str, raw: Any, state: State) -> Asked | Refused:
        try:
            return self.read(key, raw, state)
        except InvalidQuestion as error:
            return Refused(question_type(raw), ItemError.INVALID_QUESTION, str(error), error.reason)

    def read(self, key: str, raw: Any, state: State) -> Asked:
        """Read one question. Raises InvalidQuestion."""
        check_object(raw)
        preset = raw.get("preset")
        if preset is None:
            question = read_question(raw, TYPES, FURTHER)
            kind, text, options, legend = _engine_form(question)
        else:
            kind, text, options, legend = self._expand(raw, preset)
        roles, clip = resolve_over(raw.get("over"), state, is_span=kind == "span")
        return Asked(
            id=key,
            kind=kind,
            text=text,
            options=options,
            legend=legend,
            roles=roles,
            clip=clip,
            key=key if preset is None else preset,
            threshold=_threshold(raw),
            truncate=_truncates(raw),
            head=self._head(raw),
            full=raw.get("require_full_input", False),
        )

    def _expand(self, raw: Mapping[str, Any], preset: Any) -> tuple[str, str, Options, tuple[str, ...]]:
        """The question that a preset stands for."""
        names = self.calibration.presets
        if not isinstance(preset, str) or preset not in names:
            found = repr(shown_name(preset)) if isinstance(preset, str) else "another value"
            raise InvalidQuestion(f"preset must be one of {list(names)}, got {found}")
        spans = self.calibration.span_presets.get(preset)
        kind = "span" if spans else "score"
        if raw.get("type") not in (None, kind):
            raise InvalidQuestion(f"the preset {preset} is a {kind} question: leave type out or give {kind!r}")
        check_members(raw, kind, _PRESET | (FURTHER[kind] & {"threshold"}))
        if spans:
            return kind, spans.text, _texts(spans.labels), ()
        levels = self.calibration.level_presets[preset]
        return kind, levels.text, levels.levels, tuple(description for _, description in levels.levels)

    def _head(self, raw: Mapping[str, Any]) -> str | None:
        head = raw.get("head")
        if head is None:
            return None
        if not isinstance(head, str) or head not in self.heads:
            raise InvalidQuestion(f"head must be one of {list(self.heads)}: this model has no other")
        return head


def resolve_over(over: Any, state: State, *, is_span: bool) -> tuple[tuple[str, ...], Field | None]:
    """The parts that `over` names, in order, and the field that clips a span. Raises InvalidQuestion."""
    if over is None:
        return (_default_span_role(state),) if is_span else state.roles, None
    names = over if isinstance(over, list) else [over]
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidQuestion("over must be a state key, a part name or a list of at least one of them")
    found = {_role_of(name, state) for name in names}
    roles = tuple(role for role in ROLES if role in found)
    if is_span and len(roles) > 1:
        raise InvalidQuestion(f"over of a span must name one part, got {list(roles)}")
    return roles, state.fields.get(over) if is_span and isinstance(over, str) else None


def _role_of(name: str, state: State) -> str:
    field = state.fields.get(name)
    if field is not None:
        return field.role
    for role in (name, KNOWN_KEYS.get(name, name)):
        if role in state.parts:
            return role
    raise InvalidQuestion(
        f"over names {shown_name(name)!r}, which is no key of the state ({shown(list(state.fields))}) and none of its "
        f"parts ({list(state.roles)})"
    )


def _default_span_role(state: State) -> str:
    return next(role for role in ("answer", "user", *state.roles) if role in state.parts)


def _engine_form(question: Question) -> tuple[str, str, Options, tuple[str, ...]]:
    """Type, text, options and legend as the model is asked."""
    text = content_text(question.instructions)
    match question:
        case Choice():
            return "choice", text, _texts(question.options), ()
        case Noul():
            no = _DEFAULT_NO if question.false is None else content_text(question.false)
            yes = _DEFAULT_YES if question.true is None else content_text(question.true)
            return "noul", text, (("no", no), ("yes", yes)), ()
        case Score():
            levels = tuple(content_text(level) for level in question.levels)
            return "score", text, tuple((level, "") for level in levels), levels
        case Labelled():
            return question.kind, text, _texts(question.labels), ()


def _texts(described: Described) -> Options:
    return tuple((key, "" if value is None else content_text(value)) for key, value in described)


def _threshold(raw: Mapping[str, Any]) -> float | None:
    threshold = raw.get("threshold")
    if threshold is None:
        return None
    if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise InvalidQuestion("threshold must be a number from 0 to 1")
    return float(threshold)


def _truncates(raw: Mapping[str, Any]) -> bool:
    overflow = raw.get("overflow", "window")
    if overflow not in ("window", "truncate"):
        raise InvalidQuestion("overflow must be 'window' or 'truncate'")
    return bool(overflow == "truncate")


def _refuse_collision(entry: Asked | Refused, raws: Mapping[str, Any]) -> Asked | Refused:
    """Refuse a Set one of whose label answers would take the place of another question's."""
    if not isinstance(entry, Asked) or entry.kind != "set":
        return entry
    taken = [f"{entry.id}.{name}" for name, _ in entry.options if f"{entry.id}.{name}" in raws]
    if not taken:
        return entry
    message = (
        f"the set answers each label under {shown_name(entry.id)}.<label>, and {shown(taken)} are questions of their "
        "own: rename one of them"
    )
    return Refused(entry.kind, ItemError.INVALID_QUESTION, message)
