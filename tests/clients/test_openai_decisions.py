"""Decisions through the OpenAI client, in its own form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client
openai = client_package("openai")

QUESTIONS: list[dict[str, Any]] = [
    {"type": "predicate", "instructions": "Is the customer angry?", "name": "angry"},
    {
        "type": "choice",
        "instructions": [{"type": "input_text", "text": "Which team?"}],
        "choices": [{"value": "billing", "description": "A payment"}, {"value": True}, {"value": "true"}],
    },
    {
        "type": "score",
        "instructions": "How urgent?",
        "levels": [{"label": "low"}, {"label": "high", "description": "now"}],
    },
]
INPUT: list[dict[str, Any]] = [
    {"role": "system", "content": "A parcel service."},
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "Late!"}, {"type": "input_json", "data": {"order": 7}}],
    },
    {"type": "function_call", "name": "find", "call_id": "1", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "nothing"},
]


@pytest.fixture
def client(decider: Running) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{decider.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


@pytest.mark.parametrize("given", ["My parcel is late.", INPUT])
def test_answers_stand_in_the_order_of_the_questions(client: Any, given: Any) -> None:
    decision = client.decisions.create(model="decider", input=given, questions=QUESTIONS, prompt_cache_key="k")
    predicate, choice, score = decision.answers
    assert decision.model == "decider"
    assert (predicate.type, predicate.name) == ("predicate", "angry")
    assert 0 <= predicate.probability <= 1
    assert [each.value for each in choice.probabilities] == ["billing", True, "true"]
    assert math.isclose(sum(each.probability for each in choice.probabilities), 1, abs_tol=1e-6)
    assert choice.choice == max(choice.probabilities, key=lambda each: each.probability).value
    assert [(each.label, each.value) for each in score.probabilities] == [("low", 0), ("high", 1)]
    assert 0 <= score.score <= 1
    assert decision.usage.total_tokens == decision.usage.input_tokens > 0


def test_what_cannot_be_answered_is_a_refusal(client: Any) -> None:
    blank = {"type": "predicate", "instructions": " ", "name": "blank"}
    decision = client.decisions.create(model="decider", input="x", questions=[blank, QUESTIONS[0]])
    assert [answer.type for answer in decision.answers] == ["refusal", "predicate"]
    assert decision.answers[0].name == "blank"


def test_refusals(client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.decisions.create(model="gpt-6-luna", input="x", questions=QUESTIONS)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as refused:
        client.decisions.create(model="decider", input="x", questions=[])
    assert refused.value.code == "invalid_request"
    image = [{"role": "user", "content": [{"type": "input_image", "image_url": "https://example.org/a.png"}]}]
    with pytest.raises(openai.BadRequestError):
        client.decisions.create(model="decider", input=image, questions=QUESTIONS)


def test_the_model_can_be_asked_for(client: Any) -> None:
    assert client.models.retrieve("decider").id == "decider"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("acme/none")
