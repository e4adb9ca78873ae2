"""Readiness requests: which ones a model gets, and what passes."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from serving import golden
from tests.serving.fakes import describe
from vela_jax.contract import Surface
from vela_jax.surfaces.card import HeadCard
from vela_jax.surfaces.reading import check_members, read_request

GROUNDED_HEAD = HeadCard(name="default", kind="token", labels=["a"], inputs=["grounded"])


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, [("classify", list(golden.TEXTS))]),
        ({"heads": [GROUNDED_HEAD]}, [("classify", [golden.GROUNDED])]),
        ({"surfaces": [Surface.EMBEDDINGS], "heads": None}, [("embeddings", list(golden.TEXTS))]),
        ({"surfaces": [Surface.RERANK], "heads": None}, [("rerank", None)]),
        (
            {"surfaces": [Surface.CLASSIFY, Surface.DECISIONS]},
            [
                ("classify", list(golden.TEXTS)),
                ("classify", [{"text": golden.TEXTS[0], "text_pair": golden.HYPOTHESIS}]),
                ("decisions", None),
            ],
        ),
    ],
)
def test_requests_by_what_is_served(members: dict[str, Any], expected: list[tuple[str, Any]]) -> None:
    found = list(golden.cases(describe(**members)))
    assert [(surface, body.get("input")) for surface, body in found] == expected
    for surface, body in found:
        check_members(surface, body)
        read_request(surface, body)


def run(answers: list[dict[str, Any]]) -> int:
    """Check a classify model that gives these answers; tells how many were asked for."""
    left = iter(answers)

    async def ask(surface: Surface, body: dict[str, Any]) -> dict[str, Any]:
        assert surface is Surface.CLASSIFY
        assert body["input"]
        return next(left)

    asyncio.run(golden.check(describe(), ask))
    return len(answers) - len(list(left))


def test_equal_answers_pass() -> None:
    answer = {"results": [{"index": 0, "label": "a", "probabilities": [0.25, 0.75]}]}
    assert run([answer, copy.deepcopy(answer), {}]) == 2


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"x": 0.5}, {"x": 0.5000001}, "different answers"),
        ({"x": 1}, {"y": 1}, "different answers"),
        ({"x": float("nan")}, {"x": float("nan")}, "answer.x is nan"),
        ({"x": [1.0, float("inf")]}, {"x": [1.0, float("inf")]}, r"answer.x\[1\] is inf"),
        ({"x": 1.0}, {"x": float("-inf")}, "answer.x is -inf"),
        ({"r": [{"error": "invalid_input"}]}, {"r": [{"error": "invalid_input"}]}, r"r\[0\] failed with invalid_input"),
        ({"probabilities": {"a": 0.5, "b": 0.4}}, {}, "sum to 0.9"),
    ],
)
def test_bad_answers_fail(first: dict[str, Any], second: dict[str, Any], message: str) -> None:
    with pytest.raises(golden.GoldenCheckFailed, match=f"readiness request 1 \\(classify\\).*{message}"):
        run([first, second])


def test_an_absent_error_and_rounded_sums_are_well_formed() -> None:
    answer = {"error": None, "probabilities": {"a": 0.5, "b": 0.5 + 9e-7}, "scores": [0.1, 0.1], "none": None}
    assert golden.find_fault(answer) is None
