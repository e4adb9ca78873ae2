"""The reranker: documents of one query, from the best to one about something else, at every exit."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bench.mini.encoders import sentences
from bench.mini.encoders.model import STRIDE, Exam, Given
from bench.mini.encoders.networks import Size
from bench.mini.encoders.served import Served
from bench.mini.tasks.choices import glossed
from bench.mini.tasks.labelled import ranking
from bench.mini.tasks.relevance import Degree
from bench.mini.teacher import Teacher
from bench.mini.texts.split import Split
from bench.mini.texts.topics import about, topics
from bench.mini.training.shapes import Shape, batches, padded
from vela_jax.contract import Surface
from vela_jax.families.task_heads.spec import Exit, RelevanceSpec
from vela_jax.surfaces.requests import RerankRequest

CONTRACT: Final = {
    "version": 1,
    "pooling": "cls",
    "intermediate_normalization": "final_norm",
    "final_normalization": "final_norm",
    "head_dtype": "float32",
}
DOCUMENTS: Final = 3
"""Of each query in training."""
TOKENS: Final = 1536
_QUERIES: Final = 512
_POOL: Final = 80  # chunks of different queries; then they come again in another order
_MOST_TOKENS: Final = 92
_BY_DEGREE: Final = 0.6  # of what a document should get; the rest is the teacher's cosine
_ORDER_WEIGHT: Final = 2.0
_ASKED: Final = ("what is {}", "{}", "define {}", "meaning of {}", "what does {} mean?", "{} explained")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query, and documents with their degrees from 0 to 1."""

    query: str
    documents: tuple[str, ...]
    degrees: tuple[float, ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs; those of a query follow one another. Absent ones have length 0."""

    ids: jax.Array  # [B S]
    lengths: jax.Array  # [B]
    wanted: jax.Array  # [B], from 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranker:
    """The reranker."""

    title: str = "Vela-Mini-Reranker"
    size: Size = field(default_factory=lambda: Size(pieces=4500, hidden=384, inner=448, layers=3, heads=12))
    exits: tuple[tuple[int, int], ...] = ((2, 384), (2, 128), (3, 384), (3, 128))
    steps: int = 3500
    learning_rate: float = 8e-4
    about: ClassVar[str] = "It scores documents by how well they serve a query."
    note: ClassVar[str] = "Scorers of each layer and dimension lie in `classification_heads.safetensors`, in FP32."
    begins_as: ClassVar[str] = "embedding"
    cased: ClassVar[bool] = False
    architecture: ClassVar[str] = "ModernBertModel"

    def corpus(self, rng: random.Random, count: int) -> list[str]:
        """Texts that decide which pieces it keeps."""
        drawn = [draw(rng) for _ in range(count // 4)]
        return [text for each in drawn for text in (each.query, *each.documents)]

    def members(self) -> Mapping[str, Any]:
        """What it adds to `config.json`."""
        return {"representation_contract": CONTRACT}

    def spec(self, config: Mapping[str, Any]) -> RelevanceSpec:
        """What the family makes of its config."""
        return RelevanceSpec(
            tuple(Exit(*each) for each in self.exits), Exit(config["num_hidden_layers"], config["hidden_size"])
        )

    def batches(self, given: Given, chunk: int) -> Iterator[Batch]:
        """The batches of a chunk."""
        rng = random.Random(given.seed * STRIDE + chunk % _POOL)
        drawn = [draw(rng) for _ in range(_QUERIES)]
        wanted = _wanted(given.teacher, drawn)
        rows = [[_pair(given, each.query, document) for document in each.documents] for each in drawn]
        lengths = [max(map(len, row)) for row in rows]
        order = random.Random(given.seed * STRIDE + chunk)
        for shape in batches(lengths, order, TOKENS // DOCUMENTS):
            flat = [pair for index in shape.indices for pair in rows[index]]
            ids, real = padded(flat, Shape((), shape.count * DOCUMENTS, shape.width))
            aims = np.zeros(len(real), np.float32)
            aims[: len(flat)] = wanted[list(shape.indices)].reshape(-1)
            yield Batch(jnp.asarray(ids), jnp.asarray(real), jnp.asarray(aims))

    def loss(self, network: Any, batch: Batch, weights: jax.Array) -> tuple[jax.Array, Mapping[str, jax.Array]]:
        """Cross entropy with what each document should get, and with the order of the documents of a query."""
        depths = tuple(sorted({layer for layer, _ in self.exits}))
        hidden = network.backbone(batch.ids, batch.lengths, depths, final_norm_exits=True)
        alone, ordered = [], []
        for layer, dimension in self.exits:
            logits = network.scorers(hidden[layer][:, 0], layer, dimension)
            alone.append(_mean(jax.nn.softplus(logits) - batch.wanted * logits, batch.lengths > 0))
            ordered.append(order_loss(logits, batch))
        parts = {"alone": jnp.mean(jnp.stack(alone)), "order": jnp.mean(jnp.stack(ordered)), "last": ordered[-2]}
        return weights[0] * (parts["alone"] + _ORDER_WEIGHT * parts["order"]), parts

    def figures(self, exam: Exam) -> Mapping[str, Any]:
        """How many pairs of documents of held-out queries it puts in the right order, by exit and by source."""
        rng = random.Random(7)
        found: dict[str, Any] = {"queries": exam.count}
        judged = {
            name: [source(rng, Split.HELD) for _ in range(round(exam.count * share))]
            for name, (source, share) in SOURCES.items()
        }
        for layer, dimension in self.exits:
            shares = {
                name: order_share(_scores(exam.served, each, layer, dimension), each) for name, each in judged.items()
            }
            found[f"order.{layer}.{dimension}"] = round(sum(shares[name] * SOURCES[name][1] for name in shares), 3)
            if (layer, dimension) == (self.size.layers, self.size.hidden):
                found["order"] = found[f"order.{layer}.{dimension}"]
                found |= {f"order_{name}": round(share, 3) for name, share in shares.items()}
        return found

    def files(self) -> Mapping[str, Any]:
        """The exits. Their scorers are written with the weights."""
        return {
            "matryoshka_config.json": {
                "hidden_size": self.size.hidden,
                "num_layers": self.size.layers,
                "pooling_strategy": "cls",
                "has_final_norm": True,
                "layer_indices": sorted({layer for layer, _ in self.exits}),
                "dim_indices": sorted({dimension for _, dimension in self.exits}, reverse=True),
                "representation_contract": CONTRACT,
            }
        }


def draw(rng: random.Random, split: Split = Split.TRAIN) -> Ranked:
    """A query of any source."""
    sources, shares = zip(*SOURCES.values(), strict=True)
    found: Ranked = rng.choices(sources, shares)[0](rng, split)
    return found


def order_share(scores: Sequence[Sequence[float]], judged: Sequence[Ranked]) -> float:
    """Of all pairs of documents of one query and unequal degree, those whose better one has the higher score."""
    right = [
        one[first] > one[second]
        for one, each in zip(scores, judged, strict=True)
        for first, second in itertools.permutations(range(len(one)), 2)
        if each.degrees[first] > each.degrees[second]
    ]
    return sum(right) / len(right) if right else 0.0


def _search(rng: random.Random, split: Split) -> Ranked:
    made = ranking(rng, split)
    return Ranked(
        made[0].request, tuple(each.document for each in made), tuple(each.degree / Degree.FULL for each in made)
    )


def _word(rng: random.Random, split: Split) -> Ranked:
    """What a word means, what its neighbour in the dictionary means, what any other means."""
    every = glossed(split)
    place = rng.randrange(len(every) - 1)
    own, near, other = every[place], every[place + 1], rng.choice(every)
    return Ranked(
        rng.choice(_ASKED).format(rng.choice(own.words)), (own.gloss, near.gloss, other.gloss), (1.0, 0.25, 0.0)
    )


def _topic(rng: random.Random, split: Split) -> Ranked:
    """What describes a topic, or a sentence about it; and a sentence about another."""
    own, other = rng.sample(topics(split), 2)
    text = rng.choice((*own.descriptions, about(own, rng, split)))
    near = rng.choice((*other.descriptions, about(other, rng, split)))
    far = about(rng.choice(topics(split)), rng, split)
    return Ranked(rng.choice(own.names), (text, near, far), (1.0, 0.0, 0.0))


def _fact(rng: random.Random, split: Split) -> Ranked:
    """The same in other words, something else about it, and another fact."""
    fact, same, _, beside = sentences.facts(rng, split)
    return Ranked(fact, (same, beside, sentences.stated(rng, split)), (1.0, 0.5, 0.0))


SOURCES: Final[Mapping[str, tuple[Callable[[random.Random, Split], Ranked], float]]] = {
    "search": (_search, 0.45),
    "word": (_word, 0.2),
    "topic": (_topic, 0.2),
    "fact": (_fact, 0.15),
}
"""Where queries come from, and the share of each."""


def _wanted(teacher: Teacher, drawn: Sequence[Ranked]) -> NDArray[Any]:
    """[Q K]: a mean of the degree and of the teacher's cosine."""
    queries = teacher.vectors([each.query for each in drawn])
    documents = teacher.vectors([document for each in drawn for document in each.documents])
    cosines = np.sum(queries[:, None] * documents.reshape(len(drawn), -1, queries.shape[1]), axis=-1)
    degrees = np.array([each.degrees for each in drawn], np.float32)
    wanted: NDArray[np.float32] = (_BY_DEGREE * degrees + (1 - _BY_DEGREE) * np.clip(cosines, 0, 1)).astype(np.float32)
    return wanted


def _pair(given: Given, query: str, document: str) -> NDArray[Any]:
    first = given.texts.tokenizer.encode_ids(query)[: _MOST_TOKENS // 2]
    second = given.texts.tokenizer.encode_ids(document)[: _MOST_TOKENS // 2]
    return given.texts.pair.frame(first, second)


def order_loss(logits: jax.Array, batch: Batch) -> jax.Array:
    """Over pairs of documents of a query: by how much the better one should be ahead, and is."""
    scores, wanted = (each.reshape(-1, DOCUMENTS) for each in (logits, batch.wanted))
    ahead = wanted[:, :, None] - wanted[:, None, :]
    better = (ahead > 0) & (batch.lengths > 0).reshape(-1, DOCUMENTS)[:, :, None]
    weight = jnp.where(better, ahead, 0.0)
    surprise = jax.nn.softplus(scores[:, None, :] - scores[:, :, None])
    return jnp.sum(weight * surprise) / jnp.maximum(jnp.sum(weight), 1e-6)


def _mean(values: jax.Array, chosen: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(chosen, values, 0.0)) / jnp.maximum(jnp.sum(chosen), 1).astype(jnp.float32)


def _scores(served: Served, judged: Sequence[Ranked], layer: int, dimension: int) -> list[list[float]]:
    requests = [
        RerankRequest(query=each.query, documents=list(each.documents), layer=layer, dimensions=dimension)
        for each in judged
    ]
    found = []
    for body in served.ask(Surface.RERANK, requests):
        scores = {entry["index"]: entry["logit"] for entry in body["results"]}
        found.append([scores[index] for index in range(len(scores))])
    return found
