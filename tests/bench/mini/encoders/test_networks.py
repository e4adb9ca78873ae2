"""What networks begin with."""

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bench.mini.encoders.networks import config_members, make_network, unit
from bench.mini.encoders.pieces import make_pieces
from bench.mini.teacher import Teacher
from tests.bench.mini.encoders.conftest import SIZE, tiny


def drawn(count: int) -> NDArray[np.float32]:
    return unit(np.random.default_rng(0).standard_normal((count, 64)).astype(np.float32))


def test_a_text_begins_as_the_mean_of_its_pieces(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, ["the quick brown fox", "the request"], SIZE.pieces, cased=True)
    encoder = tiny("embedding")
    config = config_members(SIZE, pieces, "ModernBertModel")
    vectors = drawn(pieces.size)
    network = make_network(config, encoder.spec(config), pieces, vectors)
    ids = jnp.asarray([pieces.texts.single.frame(pieces.texts.tokenizer.encode_ids("the Fox"))])
    lengths = jnp.asarray([ids.shape[1]], jnp.int32)
    start, first = (network.backbone(ids, lengths, (0, 1))[depth].mean(axis=1) for depth in (0, 1))  # type: ignore[attr-defined]
    assert float(np.sum(unit(np.asarray(start)) * unit(np.asarray(first)))) > 0.99


def test_common_pieces_weigh_little_and_twins_share_a_direction(teacher: Teacher) -> None:
    pieces = make_pieces(teacher.tokenizer_file, ["the fox", "the Fox", "the request"] * 9, SIZE.pieces, cased=True)
    encoder = tiny("pii")
    config = {**config_members(SIZE, pieces, encoder.architecture), **encoder.members()}
    vectors = drawn(pieces.size)
    network = make_network(config, encoder.spec(config), pieces, vectors)
    normed = network.backbone.embeddings(jnp.arange(pieces.size, dtype=jnp.int32)[None])[0]  # type: ignore[attr-defined]
    length = np.linalg.norm(np.asarray(normed), axis=1)
    rare = pieces.share == pieces.share.min()
    assert length[int(pieces.share.argmax())] < 0.5 * length[rare].min()
    twins = np.asarray(normed)[pieces.capital] / length[pieces.capital, None]
    assert np.linalg.norm(twins.mean(axis=0)) > 0.25
