"""The embedder: every exit and dimension learns the teacher's vectors, turned so that the first channels say most."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
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
from bench.mini.teacher import Teacher
from bench.mini.training.shapes import batches, padded
from vela_jax.contract import Surface
from vela_jax.families.task_heads.spec import PooledSpec
from vela_jax.heads.pooling import Pooling, pool
from vela_jax.surfaces.requests import EmbeddingsRequest

CONTRACT: Final = {
    "version": 1,
    "intermediate_normalization": "none",
    "final_normalization": "final_norm",
    "pooling": "attention_mask_mean",
    "pooling_accumulation_dtype": "float32",
    "truncate_before_l2_normalize": True,
}
DIMENSIONS: Final = (256, 128, 64)
"""Beside the whole width: those that the format knows."""
TOKENS: Final = 1024
"""Positions of a batch."""
_TEXTS: Final = 768
_DECISIONS: Final = 1024  # examples of the decision model, whose texts have vectors already where it was trained
_POOL: Final = 48  # chunks of different texts; then they come again in another order
_MATRIX_WEIGHT: Final = 20.0
_MOST_TOKENS: Final = 62
_JUDGE_SEED: Final = 7


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Batch:
    """Texts and what their vectors should be; absent ones have length 0."""

    ids: jax.Array  # [B S]
    lengths: jax.Array  # [B]
    wanted: jax.Array  # [B D]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The embedder."""

    title: str = "Vela-Mini-Embedding"
    size: Size = field(default_factory=lambda: Size(pieces=8000, hidden=384, inner=448, layers=3, heads=12))
    exits: tuple[int, ...] = (1, 2, 3)
    steps: int = 5500
    learning_rate: float = 1.5e-3
    about: ClassVar[str] = "It gives texts vectors whose cosines say how near the texts are in meaning."
    note: ClassVar[str] = (
        "Files in `onnx` are empty: by their names the format lists the layers that vectors can be read from."
    )
    begins_as: ClassVar[str] = ""
    cased: ClassVar[bool] = False
    architecture: ClassVar[str] = "ModernBertModel"

    def corpus(self, rng: random.Random, count: int) -> list[str]:
        """Texts that decide which pieces it keeps."""
        return sentences.texts(rng.randrange(STRIDE), count)

    def members(self) -> Mapping[str, Any]:
        """What it adds to `config.json`."""
        return {"representation_contract": CONTRACT}

    def spec(self, config: Mapping[str, Any]) -> PooledSpec:
        """What the family makes of its config."""
        width = config["hidden_size"]
        smaller = tuple(dimension for dimension in DIMENSIONS if dimension < width)
        return PooledSpec(Pooling.MEAN, (width, *smaller), self.exits, normalized=True, final_norm_exits=False)

    def batches(self, given: Given, chunk: int) -> Iterator[Batch]:
        """The batches of a chunk."""
        seed = given.seed * STRIDE + chunk % _POOL
        texts = sentences.texts(seed, _TEXTS) + sentences.decision_texts(seed, _DECISIONS)
        wanted = turned(given.teacher, given.axes, texts)
        rows = [given.texts.single.frame(given.texts.tokenizer.encode_ids(text)[:_MOST_TOKENS]) for text in texts]
        for shape in batches([len(row) for row in rows], random.Random(given.seed * STRIDE + chunk), TOKENS):
            chosen = list(shape.indices)
            ids, lengths = padded([rows[index] for index in chosen], shape)
            aims = np.zeros((shape.count, wanted.shape[1]), np.float32)
            aims[: len(chosen)] = wanted[chosen]
            yield Batch(jnp.asarray(ids), jnp.asarray(lengths), jnp.asarray(aims))

    def loss(self, network: Any, batch: Batch, weights: jax.Array) -> tuple[jax.Array, Mapping[str, jax.Array]]:
        """One minus the cosine at every exit and dimension, and how far similarities within the batch are off."""
        hidden = network.backbone(batch.ids, batch.lengths, self.exits)
        real = batch.lengths > 0
        width = self.size.hidden
        sizes = (width, *(dimension for dimension in DIMENSIONS if dimension < width))
        angles, matrices = [], []
        for depth, size in itertools.product(self.exits, sizes):
            own = unit(pool(hidden[depth], batch.lengths, Pooling.MEAN)[:, :size])
            angles.append(_mean(1 - jnp.sum(own * unit(batch.wanted[:, :size]), axis=-1), real))
            matrices.append(_matrix(own, unit(batch.wanted), real))
        angle, matrix = (jnp.mean(jnp.stack(each)) for each in (angles, matrices))
        return weights[0] * (angle + _MATRIX_WEIGHT * matrix), {
            "angle": angle,
            "last": angles[-len(sizes)],
            "matrix": matrix,
        }

    def figures(self, exam: Exam) -> Mapping[str, Any]:
        """Rank correlation of its similarities with the teacher's, over held-out pairs."""
        judged = sentences.pairs(_JUDGE_SEED, exam.count)
        texts = list(dict.fromkeys(text for pair in judged for text in (pair.first, pair.second)))
        place = {text: index for index, text in enumerate(texts)}
        ends = np.array([(place[pair.first], place[pair.second]) for pair in judged])
        want = _similarities(exam.teacher.vectors(texts), ends)
        near = np.array([pair.near for pair in judged])
        found: dict[str, Any] = {"pairs": len(judged)}
        whole = {layer: _vectors(exam.served, texts, layer) for layer in exam.served.spec.layers}
        for layer, dimension in itertools.product(whole, exam.served.spec.dimensions):
            have = _similarities(whole[layer][:, :dimension], ends)
            found[f"spearman.{layer}.{dimension}"] = round(spearman(have, want), 3)
            if (layer, dimension) == (self.exits[-1], self.size.hidden):
                found["spearman"] = found[f"spearman.{layer}.{dimension}"]
                found["spearman_near"] = round(spearman(have[near], want[near]), 3)
                found["spearman_random"] = round(spearman(have[~near], want[~near]), 3)
        return found

    def files(self) -> Mapping[str, Any]:
        """Pooling, modules, and a name for every exit, by which the format lists them."""
        modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
        names = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
        graphs = {f"onnx/model_layer_{layer}.onnx": b"" for layer in self.exits[:-1]}
        return {
            "1_Pooling/config.json": {"word_embedding_dimension": self.size.hidden}
            | {f"pooling_mode_{mode}": mode == "mean_tokens" for mode in modes},
            "modules.json": [
                {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
                for index, (path, name) in enumerate(names)
            ],
            **graphs,
        }


def turned(teacher: Teacher, axes: NDArray[np.float32], texts: list[str]) -> NDArray[np.float32]:
    """The teacher's vectors of texts along the axes [D D]."""
    found: NDArray[np.float32] = teacher.vectors(texts) @ axes.T
    return found


def unit(vectors: jax.Array) -> jax.Array:
    """Vectors of length 1; one of length 0 stays so, and has a slope."""
    return vectors * jax.lax.rsqrt(jnp.sum(jnp.square(vectors), axis=-1, keepdims=True) + 1e-12)


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The rank correlation of two lists of numbers."""
    one, other = (np.argsort(np.argsort(values)).astype(np.float64) for values in (first, second))
    return float(np.corrcoef(one, other)[0, 1])


def _matrix(own: jax.Array, wanted: jax.Array, real: jax.Array) -> jax.Array:
    """The mean square of what similarities of different texts are off."""
    both = real[:, None] & real[None, :] & ~jnp.eye(len(real), dtype=bool)
    return _mean(jnp.square(own @ own.T - wanted @ wanted.T), both)


def _mean(values: jax.Array, chosen: jax.Array) -> jax.Array:
    return jnp.sum(jnp.where(chosen, values, 0.0)) / jnp.maximum(jnp.sum(chosen), 1).astype(jnp.float32)


def _similarities(vectors: NDArray[np.float32], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cosines of pairs [N 2] of vectors."""
    scaled = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found: NDArray[np.float64] = np.sum(scaled[ends[:, 0]].astype(np.float64) * scaled[ends[:, 1]], axis=1)
    return found


def _vectors(served: Served, texts: list[str], layer: int) -> NDArray[np.float32]:
    parts = [texts[start : start + 1024] for start in range(0, len(texts), 1024)]
    requests = [EmbeddingsRequest(input=part, layer=layer) for part in parts]
    bodies = served.ask(Surface.EMBEDDINGS, requests)
    return np.array([entry["embedding"] for body in bodies for entry in body["data"]], np.float32)
