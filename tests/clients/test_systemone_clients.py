"""Clients that speak System One beside the one of its authors, each with the calls it is made for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client

STATE = {"mail": "My parcel is late.", "from": ["a", 1]}
QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
    "topic": {"type": "choice", "instructions": "What is it about?", "criteria": {"z": None, "a": "delivery"}},
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "annoyed", "furious"]},
}


def test_decision_circuits(decider: Running) -> None:
    package = client_package("decision_circuits", "clients")
    backends = client_package("decision_circuits.backends", "clients")
    backend = backends.SystemOne(f"{decider.url}/v1/systemone", api_key=KEY, model="decider", retry_for=0)
    circuit = package.Circuit()
    circuit.noul("refund", "Does the customer want money back?")
    circuit.choice("topic", "What is it about?", {"z": None, "a": "delivery"})
    circuit.gate("pay", package.Q("refund") >= 0.5)
    out = circuit.run(backend, STATE)
    assert set(out["gates"]["pay"]) >= {"value", "p"}
    assert backend.last_response is not None
    assert backend.last_response["usage"]["input_tokens"] > 0


def test_jev_eval(decider: Running) -> None:
    provider = client_package("jev_eval.provider", "clients")
    client = provider.TypeSafeProvider(KEY, "decider", f"{decider.url}/v1")
    assert list(client.evaluate(STATE, QUESTIONS)["answers"]) == list(QUESTIONS)
    with pytest.raises(provider.RequestRejected, match="422"):
        client.evaluate(STATE, {"q": {"type": "rank"}})


@pytest.mark.parametrize("path", ["", "/v1", "/v1/systemone"])
def test_jebadiah(decider: Running, path: str) -> None:
    backends = client_package("jebadiah_decide.backends", "clients")
    client = backends.SystemOne(decider.url + path, model="decider")
    assert client.prepare() == {"model": "decider"}
    assert list(client.ask(STATE, QUESTIONS)["answers"]) == list(QUESTIONS)
    with pytest.raises(backends.JebError, match="calibration"):
        client.ask(STATE, QUESTIONS, calibrated=False)
    with pytest.raises(backends.JebError, match="no endpoint"):
        client.decide({"state": STATE})


def test_deqio_names_no_model(decider: Running) -> None:
    package = client_package("deqio_client", "clients")
    client = package.DeqioClient(decider.url)
    assert client.health()["status"] == "ready"
    sent = {"state": STATE, "questions": QUESTIONS}
    assert list(client.post("/v1/systemone", sent, contract=True)["answers"]) == list(QUESTIONS)
    with pytest.raises(package.DeqioError, match="facts") as refused:
        client.post("/v1/systemone", {**sent, "facts": "x"})
    assert refused.value.status == 400
    with pytest.raises(package.DeqioError, match="no endpoint"):
        client.noul(STATE, "Is it there?")


def test_fuzzy_jev(decider: Running) -> None:
    package = client_package("jev", "clients")
    client = package.Client(KEY, model="decider", url=f"{decider.url}/v1/systemone")
    question = package.Question
    reply = client.decide(
        STATE,
        {
            "refund": question.noul("Does the customer want money back?", yes="They ask for it", no="They do not"),
            "topic": question.choice({"ask": "About?"}, [("z", "billing"), ("a", {"deep": ["delivery"]})]),
            "anger": question.score("How angry?", ["calm", "annoyed", "furious"]),
        },
    )
    assert reply.model == "decider"
    assert set(reply.answers) == {"refund", "topic", "anger"}
    assert set(reply.answers["topic"].probabilities) == {"z", "a"}
    assert list(reply.answers["anger"].legend.values()) == ["calm", "annoyed", "furious"]
    assert reply.usage.input_tokens > 0
    with pytest.raises(package.StatusError) as refused:
        client.decide(3, {"refund": question.noul("x")})
    assert refused.value.status == 400


def test_decision_gateway_stores_replies(decider: Running, tmp_path: Path) -> None:
    package = client_package("decision_gateway", "clients")
    config = client_package("decision_gateway.config", "clients")
    model = config.ModelConfig("decider", base_url=decider.url, key_env=None, compression=False)
    model.key_env = None
    gateway = package.Gateway({"decider": model}, package.SQLiteStore(str(tmp_path / "store.sqlite")))
    asked = {name: question for name, question in QUESTIONS.items() if name != "anger"}
    with gateway.client("decider") as client:
        first, second = (client.system_one(STATE, asked) for _ in range(2))
    assert first.answers == second.answers
    assert first.model == "decider"


def test_avrik_finds_models_and_health(decider: Running) -> None:
    package = client_package("avrik_sdk", "clients")
    with package.Client(decider.url) as client:
        assert [model.name for model in client.models()] == ["decider"]
        assert client.health().status == "ready"
        with pytest.raises(package.AvrikError):
            client.decide(STATE, {"q": package.noul("Is it there?")}, options={"near_tie_margin": 0.1})
