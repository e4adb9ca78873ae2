"""Reads `calibration.json` of Vela 2.0 packages (Vela 2.0 format, section 2.2)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from checkpoints.readers.reading import Members, is_integer, is_number
from vela_jax.families.vela2.calibration import (
    Anchor,
    BroadHead,
    Calibration,
    LevelSchema,
    NoulFit,
    SpanSchema,
    SparseGate,
)
from vela_jax.systemone.questions import MAX_LABELS, MAX_LEVELS, MIN_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from checkpoints.files import PackageFolder

T = TypeVar("T")
CALIBRATION: Final = "calibration.json"
SPAN_PRESETS: Final = ("pii", "halu")
LEVEL_PRESETS: Final = ("relevance",)
_ENGINE_TYPES: Final = ("choice", "score", "set", "span")
_REQUIRED: Final = ("set:*", "span:*")
_PROBE: Final = 0.5


def read_calibration(folder: PackageFolder) -> Calibration:
    """Read the file of a package. Raises PackageError naming the member at fault."""
    members = Members(CALIBRATION, folder.json_object(CALIBRATION))
    return Calibration(
        temperature=_temperatures(members),
        thresholds=_thresholds(members),
        pii_types=frozenset(_names(members, "pii_types")),
        length_rule=_length_rule(members),
        buckets=_buckets(members),
        gate=_optional(members, "pii_sparse_gate", _gate),
        span_presets=_schemas(members, SPAN_PRESETS, _span_schema),
        level_presets=_schemas(members, LEVEL_PRESETS, _level_schema),
        noul=_optional(members, "noul_calibration", _noul_fit),
        broad=_optional(members, "broad_head", _broad_head),
    )


def _broad_head(members: Members) -> BroadHead:
    temperature = members.number("temperature")
    if temperature <= 0:
        members.fail("temperature", "a number above 0")
    sets = members.values.get("router_label_sets")
    if sets is not None and not (isinstance(sets, list) and all(_is_names(each) for each in sets)):
        members.fail("router_label_sets", "a list of lists of labels")
    named = None if sets is None else tuple(frozenset(each) for each in sets)
    return BroadHead(temperature, _probability(members, "threshold"), named)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _temperatures(members: Members) -> Mapping[str, float]:
    values = members.section("temperature")
    if values is None:
        members.fail("temperature", "an object")
    found = {kind: values.number(kind) for kind in _ENGINE_TYPES if values.values.get(kind) is not None}
    for kind, value in found.items():
        if value <= 0:
            values.fail(kind, "a number above 0")
    return MappingProxyType(found)


def _thresholds(members: Members) -> Mapping[str, float]:
    values = members.section("thresholds")
    if values is None:
        members.fail("thresholds", "an object")
    for key in (*_REQUIRED, *values.values):
        _probability(values, key)
    return MappingProxyType({key: float(value) for key, value in values.values.items()})


def _probability(members: Members, key: str) -> float:
    value = members.values.get(key)
    if not is_number(value) or not 0 <= value <= 1:
        members.fail(key, "a number from 0 to 1")
    return float(value)


def _names(members: Members, key: str) -> list[str]:
    names = members.values.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        members.fail(key, "a list of names")
    return names


def _length_rule(members: Members) -> tuple[Anchor, ...]:
    rule = members.section("pii_length_rule")
    if rule is None:
        return ()
    anchors = _anchors(rule, "anchors", "n_tokens")
    tokens = [anchor.tokens for anchor in anchors]
    if not anchors or tokens != sorted(set(tokens)) or any(anchor.threshold <= 0 for anchor in anchors):
        rule.fail("anchors", "a list with ascending n_tokens and thresholds above 0")
    return anchors


def _buckets(members: Members) -> tuple[Anchor, ...]:
    return () if members.values.get("pii_buckets") is None else _anchors(members, "pii_buckets", "max_tokens")


def _anchors(members: Members, key: str, count: str) -> tuple[Anchor, ...]:
    listed = members.values.get(key)
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        members.fail(key, "a list of objects")
    entries = [Members(f"{members.name}: {key}[{index}]", entry) for index, entry in enumerate(listed)]
    return tuple(Anchor(entry.integer(count, 1), _probability(entry, "threshold")) for entry in entries)


def _gate(members: Members) -> SparseGate:
    most = members.values.get("K", -1)
    if not is_integer(most):
        members.fail("K", "an integer")
    probe = _PROBE if members.values.get("probe_threshold") is None else _probability(members, "probe_threshold")
    return SparseGate(most, _probability(members, "t_sparse"), probe)


def _noul_fit(members: Members) -> NoulFit:
    temperature = members.number("T")
    if temperature <= 0:
        members.fail("T", "a number above 0")
    return NoulFit(temperature, members.number("b"), members.choice("default", (True, False), default=False))


def _span_schema(members: Members) -> SpanSchema:
    labels = _descriptions(members, "labels")
    if len(labels) > MAX_LABELS:
        members.fail("labels", f"an object of at most {MAX_LABELS} labels")
    return SpanSchema(_text(members), labels)


def _level_schema(members: Members) -> LevelSchema:
    levels = _descriptions(members, "levels")
    if not MIN_LEVELS <= len(levels) <= MAX_LEVELS:
        members.fail("levels", f"an object of {MIN_LEVELS} to {MAX_LEVELS} levels")
    return LevelSchema(_text(members), levels)


def _descriptions(members: Members, key: str) -> tuple[tuple[str, str], ...]:
    values = members.values.get(key)
    if not isinstance(values, dict) or not values or not all(isinstance(text, str) for text in values.values()):
        members.fail(key, "an object of descriptions by name")
    return tuple(values.items())


def _text(members: Members) -> str:
    text = members.values.get("text")
    if not isinstance(text, str) or not text.strip():
        members.fail("text", "text that is not blank")
    return text


def _schemas(members: Members, names: tuple[str, ...], read: Callable[[Members], T]) -> Mapping[str, T]:
    found = {name: _optional(members, f"{name}_schema", read) for name in names}
    return MappingProxyType({name: schema for name, schema in found.items() if schema is not None})


def _optional(members: Members, key: str, read: Callable[[Members], Any]) -> Any:
    section = members.section(key)
    return None if section is None else read(section)
