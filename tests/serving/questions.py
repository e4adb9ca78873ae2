"""A decisions model that needs no weights, and a real server over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from serving.app import build_app
from serving.config import Bounds, ModelEntry
from serving.loaded import LoadedModel, Report
from serving.schema import Schema
from serving.server import HttpServer, ServerSettings
from serving.sockets import Address
from tests.serving.fakes import STARTED, FakeEngine, LettersModel, Process, load_letters
from tests.serving.http.loopback import listening
from vela_jax.contract import (
    Answer,
    InputRefused,
    InvalidRequest,
    ItemError,
    Missing,
    Plan,
    Readout,
    Result,
    Row,
    Surface,
)
from vela_jax.surfaces.card import Description
from vela_jax.surfaces.requests import DecisionsRequest
from vela_jax.systemone.json_values import content_text, is_content
from vela_jax.systemone.questions import (
    Choice,
    InvalidQuestion,
    Noul,
    Question,
    Score,
    check_question_ids,
    question_type,
    read_question,
)

TYPES = ("choice", "noul", "score")
LONGEST_STATE = 2000


@dataclass(frozen=True)
class QuestionsPlan:
    """The read questions of one state."""

    state: str
    questions: dict[str, Question | dict[str, Any]]

    @property
    def rows(self) -> list[Row]:
        asked = [question for question in self.questions.values() if not isinstance(question, dict)]
        return [self._row(question) for question in asked]

    def _row(self, question: Question) -> Row:
        text = f"{self.state}\n{content_text(question.instructions)}"
        return Row(np.frombuffer(text.encode("utf-32-le"), np.int32), Readout("sum", 1))

    def assemble(self, results: Sequence[Result]) -> Answer:
        left = iter(results)
        answers = {
            key: question if isinstance(question, dict) else _answer(question, next(left))
            for key, question in self.questions.items()
        }
        tokens = sum(row.length for row in self.rows)
        outcomes = tuple((str(answer["type"]), str(answer.get("error", "answered"))) for answer in answers.values())
        usage = {"input_tokens": tokens, "output_tokens": 0}
        return Answer({"answers": answers, "usage": usage}, {}, tokens, outcomes)


@dataclass
class QuestionsModel:
    """Serves decisions; notes the requests it planned."""

    planned: list[DecisionsRequest] = field(default_factory=list)

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Refuse a blank state and a long one, else plan."""
        assert surface is Surface.DECISIONS
        self.planned.append(request)
        check_question_ids(request.questions)
        if not is_content(request.state):
            raise InvalidRequest("state must be text that is not blank, an object or an array")
        state = content_text(request.state)
        if len(state) > LONGEST_STATE:
            raise InputRefused("the request has too many tokens", reason="request_tokens", limit=LONGEST_STATE)
        return QuestionsPlan(state, {key: _read(raw) for key, raw in request.questions.items()})


def describe(**members: Any) -> Description:
    known: dict[str, Any] = {
        "family": "task_heads",
        "surfaces": [Surface.DECISIONS],
        "limits": {"max_input_tokens": 512},
        "parameters": 7,
        "question_types": list(TYPES),
    }
    return Description(**known | members)


def _read(raw: Any) -> Question | dict[str, Any]:
    try:
        return read_question(raw, TYPES)
    except InvalidQuestion as error:
        failed = {"type": question_type(raw), "error": str(ItemError.INVALID_QUESTION), "message": str(error)}
        return failed if error.reason is None else {**failed, "reason": error.reason}


def _answer(question: Question, result: Result) -> dict[str, Any]:
    kind = {Choice: "choice", Noul: "noul", Score: "score"}[type(question)]
    if isinstance(result, Missing):
        return {"type": kind, "error": "deadline_exceeded"}
    share = float(result[0]) % 101 / 101
    if isinstance(question, Noul):
        return {"type": "noul", "noul": share}
    if isinstance(question, Choice):
        keys = [key for key, _ in question.options]
        probabilities = _spread(share, len(keys))
        chosen = keys[probabilities.index(max(probabilities))]
        named = dict(zip(keys, probabilities, strict=True))
        return {"type": "choice", "choice": chosen, "confidence": 0.5, "probabilities": named}
    assert isinstance(question, Score)
    probabilities = _spread(share, len(question.levels))
    return {
        "type": "score",
        "score": sum(index * each for index, each in enumerate(probabilities)),
        "confidence": 0.5,
        "legend": {str(index): content_text(level) for index, level in enumerate(question.levels)},
        "probabilities": {str(index): each for index, each in enumerate(probabilities)},
    }


def _spread(share: float, count: int) -> list[float]:
    return [share, *[(1 - share) / (count - 1)] * (count - 1)]


@dataclass
class Served:
    """A running server with its first decisions model and a client."""

    process: Process
    model: QuestionsModel
    engine: FakeEngine
    client: httpx.Client
    port: int

    def post(self, path: str, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Any:
        """The decoded answer to a JSON body, which must have the status."""
        response = self.client.post(path, json=body, headers=headers)
        assert response.status_code == status, response.text
        return response.json()


@contextmanager
def answering(
    description: Description | None = None,
    schema: Schema = Schema.V5,
    names: Sequence[str] = ("asker",),
    bounds: Bounds | None = None,
    gate: Callable[[], FakeEngine] = FakeEngine,
) -> Iterator[Served]:
    """Serve decisions models under the names, and one of letters where a name is `letters`."""
    models = {name: QuestionsModel() for name in names}
    engines = {name: gate() for name in names}

    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        name = str(entry.name)
        if name == "letters":
            return load_letters(engines[name], LettersModel())
        return load_letters(engines[name], model=models[name], description=description or describe())  # type: ignore[arg-type]

    process = Process(
        [ModelEntry(model=f"acme/{name}", name=name) for name in names],
        load=load,
        bounds=bounds or Bounds(),
        schema=schema,
    ).up()
    STARTED.remove(process)  # it outlives a test
    app = build_app(process.service, process.metrics, schema=schema)
    try:
        with listening(HttpServer(app, ServerSettings(Address(port=0)))) as (port, client):
            yield Served(process, models[names[0]], engines[names[0]], client, port)
    finally:
        process.end()
