"""Losses and measures of encoders."""

import random

import jax.numpy as jnp
import numpy as np
import pytest

from bench.mini.encoders.embedding import spearman, unit
from bench.mini.encoders.reranking import DOCUMENTS, SOURCES, Batch, Ranked, draw, order_loss, order_share
from bench.mini.texts.split import Split


def test_rank_correlation_reads_order_alone() -> None:
    values = np.array([0.1, 0.5, 0.2, 0.9])
    assert spearman(values, values**3) == pytest.approx(1)
    assert spearman(values, -values) == pytest.approx(-1)


def test_unit_vectors_have_length_one_and_nothing_stays_nothing() -> None:
    found = unit(jnp.asarray([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 0], atol=1e-6)


def test_the_better_document_has_to_be_ahead() -> None:
    batch = Batch(jnp.zeros((6, 4), jnp.int32), jnp.asarray([4, 4, 4, 0, 0, 0]), jnp.asarray([1, 0.5, 0, 0, 0, 0]))
    right = jnp.asarray([9.0, 0.0, -9.0, 0.0, 0.0, 0.0])
    assert float(order_loss(right, batch)) < 0.01
    assert float(order_loss(-right, batch)) > 5


def test_order_is_counted_over_pairs_of_unequal_degree() -> None:
    judged = [Ranked("q", ("a", "b", "c"), (1.0, 0.0, 0.0))]
    assert order_share([[3.0, 1.0, 2.0]], judged) == 1
    assert order_share([[1.5, 1.0, 2.0]], judged) == 0.5
    assert order_share([], []) == 0


@pytest.mark.parametrize("split", list(Split))
def test_every_source_ranks_the_best_first(split: Split) -> None:
    rng = random.Random(2)
    for source, _ in SOURCES.values():
        made = source(rng, split)
        assert made.query
        assert len(made.documents) == DOCUMENTS
        assert list(made.degrees) == sorted(made.degrees, reverse=True)
    assert sum(share for _, share in SOURCES.values()) == pytest.approx(1)
    assert draw(rng).query
