"""The student: the teacher's layers and table under a marker head, in the layout of Vela 2.0."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Float, Int32
from numpy.typing import NDArray

from bench.mini.vocabulary import Cut
from vela_jax.backbones.bert import Bert, BertConfig
from vela_jax.heads.markers import MarkerConfig, MarkerHead, MarkerReadout, pool_ranges

PROJ_DIM: Final = 256
MOST_LABELS: Final = 24  # of a row in training
_LOG_TAU: Final = -2.3
_LOG_TAU_SPAN: Final = -2.6
_SPAN_OFFSET: Final = 0.55  # of the biases of words and labels: they point apart, so that no word has a label at first
_MARKER_NOISE: Final = 0.02
_LEAST_BIAS: Final = 0.01


class Student(nnx.Module):
    """The network as packages hold it: `backbone` and `head`."""

    def __init__(self, config: BertConfig, head: MarkerConfig, *, rngs: nnx.Rngs) -> None:
        self.backbone = Bert(config, rngs=rngs)
        self.head = MarkerHead(head, rngs=rngs)

    def hidden(self, ids: Int32[jax.Array, "B S"], lengths: Int32[jax.Array, " B"]) -> Float[jax.Array, "B S D"]:
        """Hidden states after the last layer."""
        depth = self.backbone.config.num_hidden_layers
        return self.backbone(ids, lengths, (depth,))[depth]

    def pooled(self, hidden: jax.Array, segment: Int32[jax.Array, "B S"]) -> Float[jax.Array, "B P"]:
        """The vector of the first part's tokens, length 1: what the head compares options with."""
        mean = self.head.norm(pool_ranges(hidden, segment)[:, 0])
        return unit(self.head.w_p(mean))

    def option_vectors(self, hidden: jax.Array, places: Int32[jax.Array, "B K"]) -> Float[jax.Array, "B K P"]:
        """The vectors of options without their question, length 1."""
        return unit(self.head.w_o(self.head.norm(_states_at(hidden, places))))

    def question_vectors(
        self, hidden: jax.Array, places: Int32[jax.Array, "B 1"], options: Int32[jax.Array, "B 1"]
    ) -> Float[jax.Array, "B 2 P"]:
        """The vector of a question, and that of an option with its question, length 1."""
        question = self.head.w_q(self.head.norm(_states_at(hidden, places)))
        option = self.head.w_o(self.head.norm(_states_at(hidden, options)))
        return unit(jnp.concatenate([question, option + question], axis=1))


def _states_at(hidden: Float[jax.Array, "B S D"], places: Int32[jax.Array, "B K"]) -> Float[jax.Array, "B K D"]:
    return jnp.take_along_axis(hidden, places[:, :, None], axis=1, mode="clip")


def unit(vectors: jax.Array) -> jax.Array:
    """Vectors of length 1."""
    return vectors / jnp.maximum(jnp.sqrt(jnp.sum(jnp.square(vectors), axis=-1, keepdims=True)), 1e-6)


def make_student(
    teacher: Any, cut: Cut, projection: NDArray[np.float32], seed: int = 0, layers: tuple[int, ...] | None = None
) -> Student:
    """A student with the teacher's layers (all, or some of them) and the kept rows of its table.

    `projection` [P D] maps the teacher's vectors to the width of the head; the head begins with it.
    """
    old: BertConfig = teacher.config
    kept = layers or tuple(range(old.num_hidden_layers))
    config = replace(old, vocab_size=cut.size, num_hidden_layers=len(kept), type_vocab_size=1)
    head = MarkerConfig(config.hidden_size, len(projection), MarkerReadout.BOTH)
    student = Student(config, head, rngs=nnx.Rngs(seed))
    _copy_embeddings(student.backbone, teacher, cut, seed)
    for place, layer in enumerate(kept):
        nnx.update(student.backbone.layers[place], nnx.state(teacher.layers[layer]))
    _start_head(student.head, projection)
    return student


def principal_axes(vectors: NDArray[np.float32], count: int = PROJ_DIM) -> NDArray[np.float32]:
    """The axes [P D] along which vectors [N D] differ most."""
    _, _, axes = np.linalg.svd(vectors.astype(np.float64) - vectors.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(axes[:count], np.float32)


def _copy_embeddings(backbone: Bert, teacher: Any, cut: Cut, seed: int) -> None:
    own, old = backbone.embeddings, teacher.embeddings
    table = np.asarray(old.word_embeddings.weight[...])[cut.rows]
    noise = np.random.default_rng(seed).standard_normal((len(cut.markers), table.shape[1])).astype(np.float32)
    own.word_embeddings.weight[...] = jnp.asarray(np.concatenate([table, table[:1] * 0 + noise * _MARKER_NOISE]))
    own.position_embeddings.weight[...] = old.position_embeddings.weight[...]
    own.token_type_embeddings.weight[...] = old.token_type_embeddings.weight[...][:1]
    nnx.update(own.norm, nnx.state(old.norm))


def _start_head(head: MarkerHead, projection: NDArray[np.float32]) -> None:
    """The projection for all vectors, so that a noul begins as the likeness of its question and the text."""
    axes = jnp.asarray(projection)
    for linear in (head.w_o, head.w_q, head.w_p, head.w_t, head.w_e):
        linear.weight[...] = axes
    assert head.w_t.bias is not None
    assert head.w_e.bias is not None
    assert head.w_p.bias is not None
    # Never 0, not even for a part that a row lacks: the length of a vector has no slope there.
    head.w_p.bias[...] = jnp.full(len(projection), _LEAST_BIAS, jnp.float32)
    size = _SPAN_OFFSET * math.sqrt(projection.shape[1])
    apart = jnp.zeros(len(projection), jnp.float32).at[-1].set(size)
    head.w_t.bias[...], head.w_e.bias[...] = apart, -apart
    head.log_tau[...] = jnp.float32(_LOG_TAU)
    head.log_tau_span[...] = jnp.float32(_LOG_TAU_SPAN)
