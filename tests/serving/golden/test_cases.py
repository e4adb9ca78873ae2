"""Which readiness requests a model gets."""

from __future__ import annotations

from typing import Any

import pytest

from serving.golden.cases import DECISIONS, GROUNDED, HYPOTHESIS, RERANK, TEXTS, cases
from tests.serving.fakes import describe
from vela_jax.contract import Surface
from vela_jax.surfaces.card import HeadCard
from vela_jax.surfaces.reading import check_members, read_request

GROUNDED_HEAD = HeadCard(name="default", kind="token", labels=["a"], inputs=["grounded"])


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, [("texts", "classify", {"input": list(TEXTS)})]),
        ({"heads": [GROUNDED_HEAD]}, [("grounded", "classify", {"input": [GROUNDED]})]),
        (
            {"surfaces": [Surface.EMBEDDINGS], "heads": None},
            [("embeddings", "embeddings", {"input": list(TEXTS)})],
        ),
        ({"surfaces": [Surface.RERANK], "heads": None}, [("rerank", "rerank", RERANK)]),
        (
            {"surfaces": [Surface.CLASSIFY, Surface.DECISIONS]},
            [
                ("texts", "classify", {"input": list(TEXTS)}),
                ("pair", "classify", {"input": [{"text": TEXTS[0], "text_pair": HYPOTHESIS}]}),
                ("decisions", "decisions", DECISIONS),
            ],
        ),
    ],
)
def test_requests_by_what_is_served(members: dict[str, Any], expected: list[tuple[str, str, Any]]) -> None:
    found = list(cases(describe(**members)))
    assert [(case.name, case.surface, case.body) for case in found] == expected
    for case in found:
        check_members(case.surface, case.body)
        read_request(case.surface, case.body)


def test_the_choice_holds_the_placeholder_of_a_label() -> None:
    assert DECISIONS["state"] == "Write a Python function that merges two sorted lists."
    question = DECISIONS["questions"]["topic"]  # type: ignore[index]
    assert question["instructions"].format(label="programming") == HYPOTHESIS
    assert list(question["criteria"]) == ["code", "math"]
