"""Rows, shapes, losses, steps and checkpoints."""

import random
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from bench.mini.run import Start
from bench.mini.student import MOST_LABELS, Student, make_student
from bench.mini.tasks.example import Ask, Example
from bench.mini.teacher import Teacher
from bench.mini.training import chunks as chunks_module
from bench.mini.training.chunks import Chunks
from bench.mini.training.losses import Batch, collate, losses, option_loss, word_loss
from bench.mini.training.rows import KINDS, MOST_OPTIONS, NO_LABEL, NOT_A_WORD, RowMaker, Target
from bench.mini.training.saved import Place, restore, save
from bench.mini.training.shapes import WIDTHS, Shape, batches, width_of
from bench.mini.training.trainer import Progress, Recipe, Trainer, decision_loss


def test_every_row_is_in_one_batch_that_is_wide_enough() -> None:
    lengths = [random.Random(1).randint(1, 256) for _ in range(200)]
    found = batches(lengths, random.Random(2))
    assert sorted(index for shape in found for index in shape.indices) == list(range(200))
    assert all(lengths[index] <= shape.width for shape in found for index in shape.indices)
    assert {(shape.count, shape.width) for shape in found} <= {(1024 // width, width) for width in WIDTHS}


def test_a_row_longer_than_all_widths_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 256 tokens; found 300"):
        width_of(300)


def test_options_are_read_at_their_markers(maker: RowMaker, start: Start, choice: Example) -> None:
    row = maker.make(choice)
    assert row is not None
    marker, abstain = start.cut.markers["[O]"], start.cut.markers["[ABS]"]
    assert row.ids[row.places[:4]].tolist() == [marker] * 3 + [abstain]
    assert row.wanted.tolist() == [0, 1, 0, 0] + [-1] * (MOST_OPTIONS - 4)
    assert row.texts == ("the fox", "a: food", "b", "c")


@pytest.mark.parametrize(
    ("kind", "criteria", "gold", "wanted"),
    [
        ("choice", {"a": None, "b": None}, -1, [0, 0, 1]),
        ("noul", None, 1, [0, 1]),
        ("set", {"a": None, "b": None, "c": None}, (0, 2), [1, 0, 1]),
        ("score", ["x", "y", "z"], 1, [0.075, 0.85, 0.075]),
        ("score", ["x", "y", "z"], 0, [0.85, 0.15, 0]),
    ],
)
def test_what_options_should_get(maker: RowMaker, kind: str, criteria: object, gold: int, wanted: list[float]) -> None:
    raw = {"type": kind, "instructions": "q"} | ({} if criteria is None else {"criteria": criteria})
    row = maker.make(Example("text", (Ask(kind, raw, gold),)))
    assert row is not None
    np.testing.assert_allclose(row.wanted[: len(wanted)], wanted, atol=1e-6)
    assert (row.wanted[len(wanted) :] == -1).all()


def test_words_carry_the_label_of_their_mark(maker: RowMaker) -> None:
    raw = {"type": "span", "instructions": "q", "criteria": {"AGE": None, "PERSON": None}}
    row = maker.make(Example("ask tom reed, now", (Ask("span", raw, (("PERSON", 4, 12),)),)))
    assert row is not None
    assert row.labels == 2
    assert row.words[row.words > NOT_A_WORD].tolist() == [NO_LABEL, 1, 1, NO_LABEL, NO_LABEL]


def test_a_row_that_is_too_long_is_left_out(maker: RowMaker, choice: Example) -> None:
    assert maker.make(Example("word " * 400, choice.asks)) is None


def batch_of(rows: list[Target], width: int = 128, count: int = 2) -> Batch:
    return collate(rows, Shape(tuple(range(len(rows))), count, width), [None] * len(rows), 16)


def test_right_options_lose_little(maker: RowMaker, choice: Example) -> None:
    row = maker.make(choice)
    assert row is not None
    batch = batch_of([row])
    right = jnp.asarray(np.where(batch.wanted > 0.5, 9.0, -9.0), jnp.float32)
    assert float(option_loss(right, batch)[0]) < 1e-3
    assert float(option_loss(-right, batch)[0]) > 5


def test_words_lose_by_their_labels(maker: RowMaker) -> None:
    raw = {"type": "span", "instructions": "q", "criteria": {"PERSON": None}}
    row = maker.make(Example("ask tom", (Ask("span", raw, (("PERSON", 4, 7),)),)))
    assert row is not None
    batch = batch_of([row])
    right = jnp.where(jax.nn.one_hot(batch.words, MOST_LABELS) > 0, 9.0, -9.0)
    assert float(word_loss(right, batch)[0]) < 1e-2
    assert float(word_loss(-right, batch)[0]) > 5


def test_absent_rows_do_not_count(maker: RowMaker, student: Student, choice: Example) -> None:
    row = maker.make(choice)
    assert row is not None
    graphdef, params = nnx.split(student)
    both = jax.jit(lambda batch: losses(nnx.merge(graphdef, params), batch))
    alone, among = (both(batch_of([row], count=count)) for count in (2, 3))
    np.testing.assert_allclose(alone.supervised, among.supervised, rtol=1e-5)
    assert float(alone.by_kind[KINDS.index("choice")]) > 0
    assert float(alone.by_kind[KINDS.index("span")]) == 0


@pytest.fixture
def chunks(teacher: Teacher, start: Start, maker: RowMaker, monkeypatch: pytest.MonkeyPatch) -> Chunks:
    monkeypatch.setattr(chunks_module, "CHUNK", 24)
    monkeypatch.setattr("bench.mini.training.shapes.WIDTHS", (128,))
    return Chunks(maker, teacher, start.projection, 1)


def test_a_chunk_is_the_same_each_time(chunks: Chunks) -> None:
    first, second = (list(chunks.batches(3)) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, second)


def test_a_run_taken_up_again_ends_as_one_that_was_not_left(
    chunks: Chunks, teacher: Teacher, start: Start, tmp_path: Path
) -> None:
    recipe = Recipe(steps=4, distilled_steps=2, save_every=2)
    seen: list[Progress] = []

    def trainer(name: str) -> Trainer[Student]:
        student = make_student(teacher.backbone, start.cut, start.projection, layers=(0,))
        return Trainer(student, recipe, tmp_path / name, decision_loss)

    whole = trainer("whole")
    whole.run(chunks, seen.append)

    def leave(progress: Progress) -> None:
        if progress.step == 3:
            raise KeyboardInterrupt

    broken = trainer("broken")
    with pytest.raises(KeyboardInterrupt):
        broken.run(chunks, leave)
    again = trainer("broken")
    assert 0 < again.place.step < 4
    again.run(chunks, lambda _: None)
    jax.tree.map(np.testing.assert_array_equal, whole.params, again.params)
    assert [progress.step for progress in seen] == [1, 2, 3, 4]
    assert all(np.isfinite(float(progress.losses.supervised)) for progress in seen)


def test_steps_lower_the_loss(maker: RowMaker, teacher: Teacher, start: Start, choice: Example, tmp_path: Path) -> None:
    student = make_student(teacher.backbone, start.cut, start.projection, layers=(0,))
    row = maker.make(choice)
    assert row is not None
    batch = batch_of([row])

    class Same:
        def batches(self, _: int) -> Iterator[Batch]:
            return iter([batch] * 12)

    seen: list[float] = []
    recipe = Recipe(steps=12, distilled_steps=0, learning_rate=1e-3)
    Trainer(student, recipe, tmp_path, decision_loss).run(
        Same(), lambda progress: seen.append(float(progress.losses.supervised))
    )
    assert seen[-1] < 0.5 * seen[0]


def test_a_checkpoint_of_another_student_is_refused(tmp_path: Path, student: Student) -> None:
    params = nnx.state(student)
    save(tmp_path / "run.npz", {"a": jnp.zeros(3)}, Place(1, 2, 3))
    assert restore(tmp_path / "run.npz", {"a": jnp.ones(3)})[1] == Place(1, 2, 3)
    with pytest.raises(ValueError, match="another student"):
        restore(tmp_path / "run.npz", params)
