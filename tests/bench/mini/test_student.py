"""The cut vocabulary, and the student made of the teacher's layers."""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from tokenizers import Tokenizer

from bench.mini.run import Start
from bench.mini.student import Student, principal_axes
from bench.mini.teacher import Teacher
from bench.mini.vocabulary import cut
from checkpoints.package import LoadedPackage
from vela_jax.families.vela2.encoder_layout import MARKERS


def test_special_pieces_come_first_and_markers_last(start: Start) -> None:
    vocabulary = json.loads(start.cut.tokenizer)["model"]["vocab"]
    assert [vocabulary[name] for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")] == [0, 1, 2, 3]
    assert [start.cut.markers[name] for name in MARKERS] == list(range(start.cut.size - 8, start.cut.size))
    assert len(vocabulary) == start.cut.size


def test_a_text_gives_no_marker(start: Start) -> None:
    ids = start.tokenizer.encode_ids("[Q] and [SEG_user]")
    assert not set(ids.tolist()) & set(start.cut.markers.values())


def test_frequent_pieces_stay(teacher: Teacher) -> None:
    word = next(piece for piece in reversed(_vocabulary(teacher.tokenizer_file)) if piece.isalpha() and len(piece) > 4)
    assert word in _vocabulary(cut(teacher.tokenizer_file, [word], 150).tokenizer)
    assert word not in _vocabulary(cut(teacher.tokenizer_file, [], 120).tokenizer)


def _vocabulary(tokenizer: str) -> list[str]:
    return list(json.loads(tokenizer)["model"]["vocab"])


def test_any_word_can_still_be_spelled(start: Start) -> None:
    library = Tokenizer.from_str(start.cut.tokenizer)
    assert "[UNK]" not in library.encode("xylophonist zq7", add_special_tokens=False).tokens


def test_the_students_layers_compute_what_the_teachers_do(teacher: Teacher, student: Student, start: Start) -> None:
    new = np.array([[2, *start.tokenizer.encode_ids("please route this request"), 3]], np.int32)
    old = start.cut.rows[new]
    lengths = np.array([new.shape[1]], np.int32)
    depth = student.backbone.config.num_hidden_layers
    want = teacher.backbone(jnp.asarray(old), jnp.asarray(lengths), (depth,))[depth]
    np.testing.assert_array_equal(student.hidden(jnp.asarray(new), jnp.asarray(lengths)), want)


def test_no_word_has_a_label_at_first(student: Student) -> None:
    hidden = jnp.asarray(
        np.random.default_rng(0).standard_normal((1, 9, student.backbone.config.hidden_size)), jnp.float32
    )
    logits = student.head.labels(hidden, jnp.asarray([[0, 1]], jnp.int32))
    assert float(jnp.mean(logits[:, 2:])) < 0


def test_axes_are_orthonormal_and_sorted() -> None:
    vectors = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32) * np.array(
        [9, 3, 1, 1, 1, 1, 1, 1], np.float32
    )
    axes = principal_axes(vectors, 3)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-5)
    assert abs(axes[0, 0]) > 0.9


def test_vectors_have_length_one_and_are_kept(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> None:
    first = teacher.vectors(["a small text", "Another one"])
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-2)
    monkeypatch.setattr(teacher, "_compute", None)
    np.testing.assert_array_equal(teacher.vectors(["another one", "a small text"]), first[::-1])


def test_a_cache_whose_last_entry_is_torn_is_read_up_to_it(loaded: LoadedPackage, tmp_path: Path) -> None:
    Teacher(tmp_path, loaded).vectors(["one", "two"])
    keys = tmp_path / "texts.keys"
    keys.write_bytes(keys.read_bytes()[:-3])
    again = Teacher(tmp_path, loaded)
    assert again.vectors(["one", "two"]).shape[0] == 2
    assert keys.stat().st_size == 32
