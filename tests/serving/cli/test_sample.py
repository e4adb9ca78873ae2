"""The request that is printed when a server is ready."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from serving.cli.sample import sample_request
from serving.config import ModelEntry
from serving.models import ServedModel
from tests.serving.fakes import describe, load_letters
from vela_jax.contract import Surface


def served(surface: Surface) -> ServedModel:
    made = ServedModel(ModelEntry(model="acme/letters", name="mine"))
    made.loaded = load_letters(description=describe(surfaces=[surface]))
    return made


@pytest.mark.parametrize("surface", [Surface.CLASSIFY, Surface.EMBEDDINGS, Surface.RERANK])
def test_a_command_for_the_shell(surface: Surface) -> None:
    text = sample_request("http://127.0.0.1:8100", served(surface), single=True)
    first, command = text.replace(" \\\n   ", "").split("\n")
    assert first == "try it:"
    asked, _, shown = command.partition(" | ")
    *words, body = shlex.split(asked)
    assert bool(shown) is (surface is Surface.EMBEDDINGS)
    assert words == ["curl", "-s", f"http://127.0.0.1:8100/v1/{surface}", "-d"]
    assert "model" not in json.loads(body)


def test_vectors_are_shown_as_similarities() -> None:
    command = sample_request("http://h:1", served(Surface.EMBEDDINGS), single=True).rpartition(" | ")[2]
    vectors = {"data": [{"embedding": [1.0, 0.0]}, {"embedding": [0.6, 0.8]}]}
    shown = subprocess.run(
        ["bash", "-c", command], input=json.dumps(vectors), capture_output=True, text=True, check=True
    )
    assert shown.stdout.split() == ["1.00", "0.60", "0.60", "1.00"]


def test_of_several_models_the_one_asked_is_named() -> None:
    command = sample_request("http://h:1", served(Surface.CLASSIFY), single=False)
    assert json.loads(shlex.split(command.splitlines()[1])[-1])["model"] == "mine"


def test_a_unix_socket() -> None:
    command = sample_request("unix:/run/a b.sock", served(Surface.CLASSIFY), single=True)
    words = shlex.split(command.splitlines()[1])
    assert words[2:5] == ["--unix-socket", "/run/a b.sock", "http://localhost/v1/classify"]


def test_a_model_that_is_not_loaded_has_no_sample() -> None:
    with pytest.raises(ValueError, match="not loaded"):
        sample_request("http://h:1", ServedModel(ModelEntry(model="a")), single=True)
