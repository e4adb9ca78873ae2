"""The whole command, in process and against a server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoints.embedded import Embedded
from checkpoints.fixtures import write_fixture
from serving.cli import main
from serving.cli.ask.answering import read_phases
from serving.cli.ask.local import default_model
from serving.cli.parser import build_parser
from serving.errors import ErrorCode, RequestFailed
from tests.serving.http.loopback import CARD, Loopback, serving

QUESTIONS = ["--noul", "urgent: It is urgent.", "--choice", "topic: It is about {label}. | law | code"]


@pytest.fixture(autouse=True)
def same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test process has its libraries imported already, and nobody types."""
    monkeypatch.setattr("serving.cli.ask.command.prepare_environment", lambda **_: None)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fixture(tmp_path_factory.mktemp("ask") / "nli", "nli")


@pytest.fixture
def web() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


def url_of(web: Loopback) -> str:
    return f"http://127.0.0.1:{web.port}"


def answer(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "sorter", "labels": ["a", "b"], "results": results, "usage": {"input_tokens": 3}}


def test_a_model_in_this_process_answers_as_a_server_would(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "--model", str(package), "--device", "cpu", "Pay me.", *QUESTIONS, "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert list(found["answers"]) == ["urgent", "topic"]
    assert set(found["answers"]["topic"]["probabilities"]) == {"law", "code"}
    assert found["usage"]["input_tokens"] > 0
    assert "read" in printed.err


def test_a_refusal_in_this_process_is_one_line(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "--model", str(package), "--device", "cpu", "x", "--score", "s: y | a | b"]) == 2
    assert "refused: invalid_request: no question is valid: s: " in capsys.readouterr().err


def test_a_server_is_asked(web: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    web.service.reply = lambda *_: answer([{"index": 0, "label": "a", "probabilities": [0.75, 0.25]}])
    assert main(["ask", "--url", url_of(web), "hello"]) == 0
    assert web.service.seen == [{"model": "sorter", "input": ["hello"]}]
    printed = capsys.readouterr().out
    assert "75.0 %" in printed
    assert "ms total" in printed


def test_an_item_without_an_answer_is_told_by_the_exit_code(web: Loopback) -> None:
    web.service.reply = lambda *_: answer([{"index": 0, "error": "invalid_input"}])
    assert main(["ask", "--url", url_of(web), "hello"]) == 1
    assert main(["ask", "--url", url_of(web), "hello", "--json"]) == 1


def test_several_models_are_told_apart(web: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    web.service.cards = [
        CARD,
        {**CARD, "id": "other", "repo": "org/Other", "surfaces": [], "ready": False, "status": "loading"},
    ]
    web.service.reply = lambda *_: answer([])
    assert main(["ask", "--url", url_of(web), "x"]) == 2
    assert "name one of other, sorter by --model" in capsys.readouterr().err
    assert main(["ask", "--url", url_of(web), "--model", "none", "x"]) == 2
    assert "no model 'none'; it serves other, sorter" in capsys.readouterr().err
    assert main(["ask", "--url", url_of(web), "--model", "org/Other", "x"]) == 2
    assert "other is loading" in capsys.readouterr().err
    assert main(["ask", "--url", url_of(web), "--model", "org/Sorter-1", "x"]) == 0
    assert main(["ask", "--url", url_of(web), "--surface", "classify", "x"]) == 0  # the only one that does


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["x", "--noul", "n: So?"], "Vela-Mini-Decision"),
        (["--part", "a=b", "--questions", "file"], "Vela-Mini-Decision"),
        (["x", "--query", "q"], "Vela-Mini-Reranker"),
        (["x", "--surface", "classify"], "Vela-Mini-Domain"),
        (["x"], "all-MiniLM-L6-v2"),
        (["x", "--surface", "embeddings"], "all-MiniLM-L6-v2"),
    ],
)
def test_the_model_follows_from_what_is_asked(monkeypatch: pytest.MonkeyPatch, words: list[str], name: str) -> None:
    arguments = build_parser(["ask"]).parse_args(["ask", *words])
    monkeypatch.setattr(Embedded, "is_installed", True)
    assert default_model(arguments) == name
    monkeypatch.setattr(Embedded, "is_installed", False)
    assert default_model(arguments) == name.replace("all-MiniLM-L6-v2", "Vela-Mini-Embedding")


def test_a_refusal_of_a_server_is_one_line(web: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: Any) -> Any:
        raise RequestFailed(ErrorCode.OVERLOADED, "too much")

    web.service.reply = refuse
    assert main(["ask", "--url", url_of(web), "x"]) == 2
    assert capsys.readouterr().err == f"vela: {url_of(web)} refused: overloaded: too much\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--url", "127.0.0.1:1", "x"], "--url must be http://HOST:PORT"),
        (["--url", "http://h:port", "x"], "is no address"),
        (["--url", "http://127.0.0.1:1", "x"], "cannot be asked"),
        (["--url", "unix:/nowhere/socket", "x"], "cannot be asked"),
        (["--url", "http://127.0.0.1:1", "--revision", "a", "x"], "--revision belongs"),
        (["--model", "missing/package/folder", "x"], "is no folder here"),
        (["--device", "abacus", "x"], "'abacus' is no device"),
        (["@/nowhere/text", "--url", "http://127.0.0.1:1"], "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", *words]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("vela: ")
    assert message in error


def test_phases_of_another_form_are_passed_over() -> None:
    assert read_phases("parse;dur=1.5, cache;desc=hit, x;dur=y, total;dur=2") == {"parse": 1.5, "total": 2.0}
    assert read_phases("") == {}
