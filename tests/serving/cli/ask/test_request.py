from __future__ import annotations

import io
from typing import Any

import pytest

from serving.cli.ask.request import make_request, read_asked
from serving.cli.ask.texts import TextReader
from serving.cli.failure import CommandFailed
from serving.cli.parser import build_parser

CARD: dict[str, Any] = {"id": "m", "surfaces": ["classify", "decisions"]}


def request(*words: str, surfaces: tuple[str, ...] = ("classify", "decisions")) -> tuple[str, dict[str, Any]]:
    command = ["ask", *words]
    asked = read_asked(build_parser(command).parse_args(command), TextReader(io.BytesIO(b"piped")))
    made = make_request(asked, {"id": "m", "surfaces": list(surfaces)})
    assert made.body["model"] == "m"
    return made.surface, {name: value for name, value in made.body.items() if name != "model"}


def test_questions_go_to_decisions_in_their_order() -> None:
    surface, body = request("text", "--noul", "b: x", "--choice", "a: y | k | l", "--noul", "z")
    assert surface == "decisions"
    assert body["state"] == "text"
    assert list(body["questions"]) == ["b", "a", "noul"]


def test_parts_are_an_object_state_or_one_item() -> None:
    words = ("--part", "context=-", "--part", "answer=It = x")
    parts = {"context": "piped", "answer": "It = x"}
    assert request(*words, "--preset", "halu")[1] == {"state": parts, "questions": {"halu": {"preset": "halu"}}}
    assert request(*words) == ("classify", {"input": [parts]})


@pytest.mark.parametrize(
    ("words", "surfaces", "expected"),
    [
        (("a", "b"), ("classify",), ("classify", {"input": ["a", "b"]})),
        (("a",), ("embeddings",), ("embeddings", {"input": ["a"]})),
        ((), ("embeddings",), ("embeddings", {"input": ["piped"]})),
        (("a", "--query", "q"), ("rerank",), ("rerank", {"query": "q", "documents": ["a"]})),
        (
            ("a", "--option", "threshold=0.5", "--option", "overflow=truncate"),
            ("classify",),
            ("classify", {"input": ["a"], "options": {"threshold": 0.5, "overflow": "truncate"}}),
        ),
    ],
)
def test_the_surface_follows_from_what_is_asked(words: Any, surfaces: Any, expected: Any) -> None:
    assert request(*words, surfaces=surfaces) == expected


@pytest.mark.parametrize(
    ("words", "surfaces", "message"),
    [
        (("x", "--noul", "y"), ("embeddings",), "does not serve decisions; it serves embeddings"),
        (("x", "--query", "y"), ("classify",), "does not serve rerank"),
        (("x",), (), "serves none of classify, decisions, embeddings, rerank"),
        (("x",), ("decisions",), "add --noul, --choice"),
        (("x",), ("rerank",), "give --query"),
        (("x", "y", "--noul", "z"), ("decisions",), "about one TEXT, got 2"),
        (("x", "--part", "a=b"), ("decisions",), "exclude each other"),
        (("--part", "a"), ("decisions",), "must be NAME=VALUE"),
        (("--part", "a=b", "--part", "a=c"), ("decisions",), "a comes twice"),
        (("--part", "a=b"), ("embeddings",), "take no --part"),
        (("x", "--query", "y", "--noul", "z"), ("decisions",), "give one of them"),
        (("x", "--surface", "classify", "--noul", "z"), ("classify", "decisions"), "takes no questions"),
        (("x", "--surface", "classify", "--query", "z"), ("classify",), "takes no --query"),
        (("x", "--option", "window={"), ("classify",), "is not JSON"),
    ],
)
def test_what_does_not_fit_is_refused(words: Any, surfaces: Any, message: str) -> None:
    with pytest.raises(CommandFailed, match=message):
        request(*words, surfaces=surfaces)
