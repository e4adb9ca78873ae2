"""The readiness request of models that read parts and find spans, and what is recorded of it."""

import pytest

from checkpoints.golden import References
from serving.golden.cases import SCHEMA_PRESETS, SCHEMA_QUESTIONS, cases
from tests.serving.fakes import describe
from vela_jax.contract import Surface

RELEASED = "7e786f91413961d76a8b85318f70fea1509124fe33709a8c12d6badf8d2ccda4"


@pytest.mark.parametrize(
    ("presets", "asked"), [(None, ()), (["pii"], ("pii",)), (["pii", "halu", "relevance"], ("pii", "halu"))]
)
def test_presets_are_asked_where_the_model_has_them(presets: list[str] | None, asked: tuple[str, ...]) -> None:
    members = {"surfaces": [Surface.DECISIONS], "heads": None, "question_types": ["choice", "span"], "presets": presets}
    (case,) = cases(describe(**members))
    assert list(case.body["questions"]) == [*SCHEMA_QUESTIONS, *asked]
    assert set(case.body["state"]) == {"request", "source", "answer"}


def test_the_released_model_is_judged_by_every_value_of_the_request() -> None:
    reference = References.read([]).find(RELEASED, "cpu")
    assert reference is not None
    keys = set(reference.cases["decisions"].values)
    options = {f"domain.choice.{name}" for name in SCHEMA_QUESTIONS["domain"]["criteria"]}
    levels = {f"urgency.score.{level}" for level in range(3)}
    labels = {f"topics.{name}.noul" for name in SCHEMA_QUESTIONS["topics"]["criteria"]}
    assert keys == options | levels | labels | {"jailbreak.noul"} | {f"{name}.noul" for name in SCHEMA_PRESETS}
