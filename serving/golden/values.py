"""From an answer to the values that are compared: numbers by key (Vela 1.0 format, section 14)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from vela_jax.contract import Surface

SUM_TOLERANCE: Final = 1e-6
Values = Mapping[str, float]
Pairs = Iterator[tuple[str, float]]


class Malformed(Exception):
    """An answer that no sound model gives; the message says where and what."""


def read_values(surface: Surface, answer: dict[str, Any]) -> dict[str, float]:
    """The values of an answer's body. Raises Malformed.

    Keys are `<i>.probabilities.<label>`, `<i>.scores.<label>`, `<i>.span.<n>.<LABEL>.<start>.<end>`, `<i>.<component>`,
    `<i>.logit`; of decisions `<question>.noul` and `<question>.<type>.<option>`, so that other types have other keys.
    """
    _require_sound(answer, "answer")
    return dict(_READERS[surface](answer))


def _require_sound(value: object, path: str) -> None:
    """Refuse failed items and numbers that are not finite, wherever they stand."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Malformed(f"{path} is {value}")
    if isinstance(value, list):
        for index, each in enumerate(value):
            _require_sound(each, f"{path}[{index}]")
    elif isinstance(value, dict):
        if value.get("error") is not None:
            raise Malformed(f"{path} failed with {value['error']}")
        for key, each in value.items():
            _require_sound(each, f"{path}.{key}")


def _classify_values(answer: dict[str, Any]) -> Pairs:
    labels = answer.get("labels", [])
    for result in answer["results"]:
        index = result["index"]
        for member in ("probabilities", "scores"):
            if member in result:
                for label, value in zip(labels, result[member], strict=True):
                    yield f"{index}.{member}.{label}", value
        for number, span in enumerate(result.get("spans", ())):
            yield f"{index}.span.{number}.{span['label']}.{span['start']}.{span['end']}", span["probability"]


def _embeddings_values(answer: dict[str, Any]) -> Pairs:
    for entry in answer["data"]:
        for component, value in enumerate(entry["embedding"]):
            yield f"{entry['index']}.{component}", value


def _rerank_values(answer: dict[str, Any]) -> Pairs:
    """In document order, whatever the ranking."""
    for result in sorted(answer["results"], key=lambda each: int(each["index"])):
        yield f"{result['index']}.logit", result["logit"]


def _decisions_values(answer: dict[str, Any]) -> Pairs:
    for question, decision in answer["answers"].items():
        if decision["type"] == "noul":
            yield f"{question}.noul", _require_noul(question, decision.get("noul"))
        else:
            for option, value in _require_distribution(question, decision.get("probabilities")).items():
                yield f"{question}.{decision['type']}.{option}", value


def _require_noul(question: str, value: object) -> float:
    if not isinstance(value, float) or not 0 <= value <= 1:
        raise Malformed(f"{question}.noul is {value}, not a number from 0 to 1")
    return value


def _require_distribution(question: str, probabilities: object) -> dict[str, float]:
    where = f"{question}.probabilities"
    if not isinstance(probabilities, dict) or not probabilities:
        raise Malformed(f"{where} is {probabilities}, not numbers by option")
    for option, value in probabilities.items():
        if not isinstance(value, float) or value < 0:
            raise Malformed(f"{where}.{option} is {value}, not a number from 0 on")
    total = sum(probabilities.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise Malformed(f"{where} sum to {total:.9g}")
    return probabilities


_READERS: Final[Mapping[Surface, Callable[[dict[str, Any]], Pairs]]] = {
    Surface.CLASSIFY: _classify_values,
    Surface.EMBEDDINGS: _embeddings_values,
    Surface.RERANK: _rerank_values,
    Surface.DECISIONS: _decisions_values,
}
