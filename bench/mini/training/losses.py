"""The losses of a batch: options by cross entropy, labels of sets and words by themselves, vectors by their angle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from bench.mini.student import MOST_LABELS, Student
from bench.mini.training.rows import KINDS, MOST_OPTIONS, NO_LABEL, NOT_A_WORD, Target
from bench.mini.training.shapes import Shape, padded

_SET: Final = KINDS.index("set")
_SPAN: Final = KINDS.index("span")
_NOUL: Final = KINDS.index("noul")
_TRUE: Final = 1  # place of `true` among the options of a noul
_FAR: Final = -1e9
SPAN_WEIGHT: Final = 4.0  # of a span's mean over words against the loss of a question
POSITIVE_WEIGHT: Final = 3.0  # of words that carry a label: there are few


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Batch:
    """Rows with targets, padded; absent rows have length 0. K is MOST_OPTIONS, P the width of the head."""

    ids: jax.Array  # [B S]
    lengths: jax.Array  # [B]
    marks: jax.Array  # [B 4 S]
    kind: jax.Array  # [B]
    places: jax.Array  # [B K]
    wanted: jax.Array  # [B K]
    words: jax.Array  # [B S]
    labels: jax.Array  # [B]
    state: jax.Array  # [B P], the teacher's vector of the state; 0 where there is none
    options: jax.Array  # [B K P]
    question: jax.Array  # [B P], of nouls


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Losses:
    """Means over the rows that have a part in each."""

    supervised: jax.Array
    distilled: jax.Array
    by_kind: jax.Array  # [kinds]


def collate(rows: Sequence[Target], shape: Shape, vectors: Sequence[np.ndarray | None], width: int) -> Batch:
    """A batch of rows; `vectors` [1+options, P] of each row with texts."""
    ids, lengths = padded([row.ids for row in rows], shape)
    count = shape.count
    marks = np.zeros((count, 4, shape.width), np.int32)
    words = np.full((count, shape.width), NOT_A_WORD, np.int32)
    wanted = np.full((count, MOST_OPTIONS), -1.0, np.float32)
    places = np.zeros((count, MOST_OPTIONS), np.int32)
    kind, labels = np.zeros(count, np.int32), np.zeros(count, np.int32)
    state = np.zeros((count, width), np.float32)
    options = np.zeros((count, MOST_OPTIONS, width), np.float32)
    question = np.zeros((count, width), np.float32)
    for place, (row, known) in enumerate(zip(rows, vectors, strict=True)):
        marks[place, :, : len(row.ids)] = row.marks
        words[place, : len(row.ids)] = row.words
        wanted[place], places[place] = row.wanted, row.places
        kind[place], labels[place] = row.kind, row.labels
        if known is not None:
            state[place] = known[0]
            if row.kind == _NOUL:
                question[place] = known[1]
            else:
                options[place, : len(known) - 1] = known[1:]
    members = (ids, lengths, marks, kind, places, wanted, words, labels, state, options, question)
    return Batch(*map(jnp.asarray, members))


def losses(student: Student, batch: Batch) -> Losses:
    """All losses of a batch."""
    hidden = student.hidden(batch.ids, batch.lengths)
    segment, pool, query, labels = (batch.marks[:, kind] for kind in range(4))
    logits = student.head.options(hidden, segment, pool, query)
    options = jnp.take_along_axis(logits, batch.places, axis=1, mode="clip")
    words = student.head.labels(hidden, labels[:, :MOST_LABELS])
    real = batch.lengths > 0
    rows = jnp.where(batch.kind == _SPAN, SPAN_WEIGHT * word_loss(words, batch), option_loss(options, batch))
    by_kind = jnp.stack([_mean(rows, real & (batch.kind == kind)) for kind in range(len(KINDS))])
    return Losses(_mean(rows, real), _distilled(student, hidden, segment, batch), by_kind)


def option_loss(logits: Float[jax.Array, "B K"], batch: Batch) -> Float[jax.Array, " B"]:
    """Cross entropy over the options of a question; of a set the mean over its labels."""
    present = batch.wanted >= 0
    wanted = jnp.maximum(batch.wanted, 0.0)
    chosen = -jnp.sum(wanted * jax.nn.log_softmax(jnp.where(present, logits, _FAR), axis=-1), axis=-1)
    alone = jnp.where(present, binary(logits, wanted), 0.0)
    count = jnp.maximum(jnp.sum(present, axis=-1), 1).astype(jnp.float32)
    return jnp.where(batch.kind == _SET, 2 * jnp.sum(alone, axis=-1) / count, chosen)


def word_loss(logits: Float[jax.Array, "B S E"], batch: Batch) -> Float[jax.Array, " B"]:
    """The mean over words of the mean over labels; words that carry a label weigh more."""
    most = logits.shape[-1]
    wanted = jax.nn.one_hot(batch.words, most, dtype=jnp.float32)  # of no label: all 0
    there = jnp.arange(most, dtype=jnp.int32)[None, None, :] < batch.labels[:, None, None]
    weight = jnp.where(there & (batch.words > NOT_A_WORD)[:, :, None], 1.0, 0.0)
    weight = weight * jnp.where(batch.words > NO_LABEL, POSITIVE_WEIGHT, 1.0)[:, :, None]
    losses = jnp.sum(weight * binary(logits, wanted), axis=(1, 2))
    words = jnp.sum(batch.words > NOT_A_WORD, axis=1).astype(jnp.float32)
    return losses / jnp.maximum(words, 1.0)


def binary(logits: jax.Array, wanted: jax.Array) -> jax.Array:
    """Cross entropy of sigmoid(logits)."""
    return jax.nn.softplus(logits) - wanted * logits


def _distilled(student: Student, hidden: jax.Array, segment: jax.Array, batch: Batch) -> jax.Array:
    """One minus the cosine with the teacher, of the state, and of each option.

    Of a noul both the question and what its `true` is compared as, so that it begins as the likeness of question and
    text: without that, nothing tells `true` from `false` and nouls stay at chance.
    """
    known = _is_known(batch.options)
    state = 1 - jnp.sum(student.pooled(hidden, segment) * batch.state, axis=-1)
    options = 1 - jnp.sum(student.option_vectors(hidden, batch.places) * batch.options, axis=-1)
    counts = jnp.maximum(jnp.sum(known, axis=-1), 1).astype(jnp.float32)
    asked = jnp.take_along_axis(batch.marks[:, 2], batch.places[:, :1], axis=1, mode="clip")
    vectors = student.question_vectors(hidden, asked, batch.places[:, _TRUE : _TRUE + 1])
    question = 1 - jnp.mean(jnp.sum(vectors * batch.question[:, None], axis=-1), axis=1)
    of_options = jnp.sum(jnp.where(known, options, 0.0), axis=-1) / counts
    rows = state + jnp.where(_is_known(batch.question), question, of_options)
    return _mean(rows, _is_known(batch.state))


def _is_known(vectors: jax.Array) -> jax.Array:
    """Which vectors the teacher gave; the others are 0."""
    return jnp.sum(jnp.abs(vectors), axis=-1) > 0


def _mean(rows: jax.Array, chosen: jax.Array) -> jax.Array:
    count = jnp.maximum(jnp.sum(chosen), 1).astype(jnp.float32)
    return jnp.sum(jnp.where(chosen, rows, 0.0)) / count
