"""A request to try, printed when a server is ready."""

from __future__ import annotations

import json
import shlex
from typing import Any, Final

from serving.golden import cases
from serving.models import ServedModel
from serving.text_endpoints import GENERATE
from vela_jax.contract import Surface
from vela_jax.generation.vocabulary import Vocabulary

SENTENCES: Final = ("A cat sleeps on the sofa.", "A kitten naps on the couch.", "The stock market fell today.")
SIMILARITIES: Final = (
    'import json, sys; v = [entry["embedding"] for entry in json.load(sys.stdin)["data"]]; '
    '[print(*(f"{sum(map(float.__mul__, a, b)):5.2f}" for b in v)) for a in v]'
)
"""Prints the similarity of every pair of vectors as a table."""


def sample_request(url: str, served: ServedModel, single: bool) -> str:
    """A shell command that asks a ready model what it serves; the model is named where several are served.

    Vectors are no sight for a person: an embedder's answer goes on into a table of similarities.
    """
    loaded = served.loaded
    if loaded is None:
        raise ValueError(f"{served.id} is not loaded")
    if loaded.tokens is not None:
        return _sample_generation(url, served, loaded.tokens.planner.profile.vocabulary)
    case = next(cases(loaded.description))
    surface, body = case.surface, case.body
    if surface is Surface.EMBEDDINGS:
        body = {"input": list(SENTENCES)}
    named: dict[str, Any] = body if single else {"model": served.id, **body}
    words = ["curl", "-s", *_target(url, f"/v1/{surface}"), "-d", json.dumps(named, ensure_ascii=False)]
    pipe = f" \\\n    | python3 -c {shlex.quote(SIMILARITIES)}" if surface is Surface.EMBEDDINGS else ""
    return f"try it:\n  {shlex.join(words)}{pipe}"


def _sample_generation(url: str, served: ServedModel, vocabulary: Vocabulary) -> str:
    """A command that has a generator go on with a sentence."""
    ids = vocabulary.encode(SENTENCES[0], add_special_tokens=True).ids
    params = {"temperature": 0, "max_tokens": 24}
    body = {"model": served.id, "token_ids": ids, "sampling_params": params, "output_mode": "text"}
    words = ["curl", "-s", *_target(url, GENERATE), "-H", "content-type: application/json", "-d", json.dumps(body)]
    return f"try it:\n  {shlex.join(words)}"


def _target(url: str, path: str) -> list[str]:
    """Arguments of curl for a URL of the server, which may be that of a Unix socket."""
    socket = url.removeprefix("unix:")
    return [url + path] if socket == url else ["--unix-socket", socket, f"http://localhost{path}"]
