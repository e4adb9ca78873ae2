"""The embedded default model with its real weights, against the same network written out in float64 tensors."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer

from checkpoints.files import PackageError
from checkpoints.tables.embedded import MINILM
from serving.config import ModelEntry
from tests.end_to_end.asking import embed
from tests.end_to_end.server import running
from vela_jax.forward.engine_args import EngineArgs

LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12
LIMIT: Final = 256

PARAPHRASES: Final = (
    ("The cat is sleeping on the sofa.", "A kitten naps on the couch."),
    ("How do I reset my password?", "I forgot my password and need a new one."),
    ("The stock market fell sharply today.", "Share prices dropped a lot this afternoon."),
    ("She plays the violin in an orchestra.", "She is a violinist of a symphony orchestra."),
    ("It will rain heavily tomorrow.", "Tomorrow's forecast is for strong rainfall."),
    ("The recipe needs two eggs and some flour.", "You need flour and a pair of eggs to bake this."),
    ("The train to Berlin is delayed by an hour.", "Our railway connection to Berlin runs sixty minutes late."),
    ("Water boils at one hundred degrees Celsius.", "At 100 °C, water starts to boil."),
    ("The company hired three new engineers.", "Three engineers have joined the firm."),
    ("The museum is closed on Mondays.", "You cannot visit the museum on a Monday."),
    ("He broke his leg while skiing.", "During a ski trip he fractured his leg."),
    ("Python sorts a list with the sorted function.", "Use sorted() to order a list in Python."),
)
OTHERS: Final = (
    "a",
    ".",
    "?!",
    " ",
    "\n\t",
    "42",
    "3.14159 · 2.71828",
    "https://example.org/path?query=value&other=%20#part",
    "def f(x):\n    return x ** 2  # square",
    "SELECT name FROM users WHERE age >= 18;",
    '{"key": [1, 2, {"nested": null}]}',
    "ALL CAPITALS AND Some CamelCaseWords",
    "naïve café, Übung, señor, Ångström",
    "cafe\u0301 with a combining accent",
    "Die Straße ist wegen Bauarbeiten gesperrt.",
    "Où se trouve la bibliothèque ?",
    "¿Dónde está la estación de tren más cercana?",
    "Где находится ближайшая аптека?",
    "今日は天気がとてもいいですね。",
    "请问最近的地铁站在哪里？",
    "오늘 저녁에 뭐 먹을까요?",
    "أين تقع أقرب محطة؟",
    "👍🏽 great 🚀🚀 launch",
    "supercalifragilisticexpialidocious " * 3,
    "The quick brown fox jumps over the lazy dog; " * 12,
    "Long texts are cut after 256 tokens, special tokens included. " * 40,
)
TEXTS: Final = (*(text for pair in PARAPHRASES for text in pair), *OTHERS)


@pytest.fixture(scope="module")
def package() -> Path:
    """The installed model; where the tests must be complete its absence is a failure."""
    try:
        return MINILM.locate()
    except PackageError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def client(package: Path) -> Iterator[httpx.Client]:
    assert package.is_dir()
    args = EngineArgs(warmup=(), background=(), row_buckets=(1,), length_buckets=(32, LIMIT))
    with running([ModelEntry(model=MINILM.name)], args=args) as server:
        server.require_ready()
        with httpx.Client(base_url=server.url, timeout=120) as client:
            yield client


@pytest.fixture(scope="module")
def served(client: httpx.Client) -> NDArray[np.float32]:
    """What the server answers: [50 384]."""
    entries = embed(client, MINILM.name, list(TEXTS), options={"overflow": "truncate"})
    return np.stack([np.frombuffer(base64.b64decode(entry["embedding"]), "<f4") for entry in entries])


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Products of a few tokens take ten times as long when two threads share them."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)


@pytest.fixture(scope="module")
def reference(package: Path, one_thread: None) -> NDArray[np.float64]:  # noqa: ARG001
    """What the network gives in float64: [50 384]."""
    tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT)
    weights = {
        name: tensor.double()
        for name, tensor in load_file(package / "model.safetensors").items()
        if tensor.is_floating_point()
    }
    return np.stack([sentence_vector(weights, tokenizer.encode(text).ids).numpy() for text in TEXTS])


def sentence_vector(weights: dict[str, torch.Tensor], ids: list[int]) -> torch.Tensor:
    """BERT, the mean over its last hidden states, and norm 1: [384] of one text's ids."""

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        deviation = torch.sqrt((centred**2).mean(-1, keepdim=True) + EPSILON)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    table = "embeddings.{}_embeddings.weight"
    x = weights[table.format("word")][ids] + weights[table.format("position")][: len(ids)]
    x = norm(x + weights[table.format("token_type")][0], "embeddings.LayerNorm")
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        q, k, v = (
            linear(x, f"{layer}.attention.self.{name}").reshape(len(ids), HEADS, -1).transpose(0, 1)
            for name in ("query", "key", "value")
        )
        attention = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1) @ v
        mixed = linear(attention.transpose(0, 1).reshape(len(ids), -1), f"{layer}.attention.output.dense")
        x = norm(mixed + x, f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = inner * (1 + torch.erf(inner / 2**0.5)) / 2
        x = norm(linear(inner, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    pooled = x.mean(0)
    vector: torch.Tensor = pooled / pooled.norm()
    return vector


def test_vectors_are_those_of_the_network(served: NDArray[np.float32], reference: NDArray[np.float64]) -> None:
    assert served.shape == reference.shape == (50, 384)
    cosines = (served * reference).sum(axis=1) / np.linalg.norm(served, axis=1)
    assert cosines.min() >= 0.99999
    assert np.abs(served - reference).max() <= 1e-5
    assert np.linalg.norm(served, axis=1) == pytest.approx(np.ones(50), abs=1e-6)


def test_the_nearest_sentence_is_the_paraphrase(served: NDArray[np.float32]) -> None:
    sentences = served[: 2 * len(PARAPHRASES)]
    likeness = sentences @ sentences.T
    np.fill_diagonal(likeness, -1)
    partners = [index ^ 1 for index in range(len(sentences))]
    assert likeness.argmax(axis=1).tolist() == partners


def test_a_long_text_is_cut_at_the_limit(client: httpx.Client) -> None:
    entries = embed(client, MINILM.name, list(TEXTS), options={"overflow": "truncate"})
    usages = [entry["input"] for entry in entries]
    assert [usage["truncated"] for usage in usages] == [False] * 49 + [True]
    assert usages[-1]["processed_tokens"] == LIMIT < usages[-1]["tokens"]
    (refused,) = embed(client, MINILM.name, TEXTS[-1])
    assert refused["error"] == "max_length_exceeded"


def test_a_vector_has_the_same_bits_alone(client: httpx.Client, served: NDArray[np.float32]) -> None:
    for index in (0, 7, 30, 48):
        (entry,) = embed(client, MINILM.name, TEXTS[index])
        assert base64.b64decode(entry["embedding"]) == served[index].tobytes()


def test_it_is_served_without_a_name(client: httpx.Client) -> None:
    body: dict[str, Any] = {"input": "hello"}
    answer = client.post("/v1/embeddings", json=body).json()
    assert answer["model"] == MINILM.name
    card = client.get("/v1/models").json()["data"][0]
    assert (card["id"], card["repo"], card["limits"]["max_input_tokens"]) == (MINILM.name, MINILM.repo, LIMIT)
