"""From the arguments of the command and a model's card to the request that is sent."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serving.cli.ask.options import SURFACES
from serving.cli.ask.questions import read_questions
from serving.cli.ask.texts import TextReader
from serving.cli.failure import CommandFailed


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks, whoever answers it."""

    texts: tuple[str, ...]
    parts: Mapping[str, str]
    query: str | None
    questions: Mapping[str, Any]
    options: Mapping[str, Any]
    surface: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """A surface and the body for it; `texts` are those that the answer's items belong to."""

    surface: str
    body: Mapping[str, Any]
    texts: tuple[str, ...]


def read_asked(arguments: argparse.Namespace, reader: TextReader) -> Asked:
    """Read all texts and questions. Raises CommandFailed for what is missing or contradicts itself."""
    parts = {name: reader.read(text) for name, text in _named("--part", arguments.part)}
    query = None if arguments.query is None else reader.read(arguments.query)
    questions = read_questions(arguments.questions, arguments.question_file)
    options = {name: _json(name, text) for name, text in _named("--option", arguments.option)}
    if parts and arguments.texts:
        raise CommandFailed("--part and TEXT exclude each other: a state is one text or an object of parts")
    if query is not None and questions:
        raise CommandFailed("--query ranks documents, questions are asked about a state: give one of them")
    texts = () if parts else tuple(reader.read_all(arguments.texts))
    if not texts and not parts:
        raise CommandFailed("there is nothing to ask about: give a TEXT, @FILE, --part or standard input")
    return Asked(texts, parts, query, questions, options, arguments.surface)


def called_for(arguments: argparse.Namespace) -> str | None:
    """The surface that the command line names, or that its questions or query need."""
    if arguments.surface is not None:
        surface: str = arguments.surface
        return surface
    if arguments.questions or arguments.question_file is not None:
        return "decisions"
    return None if arguments.query is None else "rerank"


def make_request(asked: Asked, card: Mapping[str, Any]) -> Request:
    """The request for a model. Raises CommandFailed when it does not serve what is asked."""
    surface = _surface(asked, card)
    body = {"model": card["id"], **_body(asked, surface)}
    if asked.options:
        body["options"] = dict(asked.options)
    texts = (json.dumps(asked.parts, ensure_ascii=False),) if asked.parts else asked.texts
    return Request(surface, body, texts)


def _surface(asked: Asked, card: Mapping[str, Any]) -> str:
    """What the options call for, else the first surface of the card that needs none of them."""
    served: Sequence[str] = [each for each in card["surfaces"] if each in SURFACES]
    if not served:
        raise CommandFailed(f"model {card['id']} serves none of {', '.join(SURFACES)}: it cannot be asked this way")
    wanted = asked.surface
    if wanted is None and asked.questions:
        wanted = "decisions"
    if wanted is None and asked.query is not None:
        wanted = "rerank"
    if wanted is None:
        wanted = next((each for each in ("classify", "embeddings") if each in served), served[0])
    if wanted not in served:
        raise CommandFailed(f"model {card['id']} does not serve {wanted}; it serves {', '.join(served)}")
    return wanted


def _body(asked: Asked, surface: str) -> dict[str, Any]:
    if surface == "decisions":
        if not asked.questions:
            raise CommandFailed("this model answers questions about the text: add --noul, --choice or another one")
        return {"state": _state(asked), "questions": dict(asked.questions)}
    if asked.questions:
        raise CommandFailed(f"{surface} takes no questions: leave them out, or leave out --surface")
    if surface == "rerank":
        if asked.query is None or asked.parts:
            raise CommandFailed("this model ranks documents: give --query, and each document as a TEXT")
        return {"query": asked.query, "documents": list(asked.texts)}
    if asked.query is not None:
        raise CommandFailed(f"{surface} takes no --query")
    if asked.parts and surface == "embeddings":
        raise CommandFailed("embeddings take no --part: give each text as a TEXT")
    return {"input": [dict(asked.parts)] if asked.parts else list(asked.texts)}


def _state(asked: Asked) -> Any:
    if asked.parts:
        return dict(asked.parts)
    if len(asked.texts) != 1:
        raise CommandFailed(f"questions are asked about one TEXT, got {len(asked.texts)}: quote it, or use --part")
    return asked.texts[0]


def _named(option: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """NAME=VALUE pairs, each name once."""
    pairs: list[tuple[str, str]] = []
    for value in values:
        name, equals, text = value.partition("=")
        if not name or not equals:
            raise CommandFailed(f"{option} must be NAME=VALUE, got {value!r}")
        if name in dict(pairs):
            raise CommandFailed(f"{option}: {name} comes twice")
        pairs.append((name, text))
    return pairs


def _json(name: str, text: str) -> Any:
    """A JSON value; what is none is text, so that names need no quotes within quotes."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if not text or text[0] in '[{"':
            raise CommandFailed(f"--option {name}: {text!r} is not JSON") from None
        return text
