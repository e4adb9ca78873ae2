"""Param trees: plans, faults, values."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import save

from checkpoints.files import PackageError, PackageFolder
from checkpoints.keymaps import KeyMap, Rule, Transform
from checkpoints.loading import Source, count_elements, plan_fills, read_params
from checkpoints.progress import Stage
from checkpoints.weights import TensorFile

MAP = KeyMap(
    rules=(
        Rule("[model.]layers.{i}.weight", ("backbone", "layers", "{i}", "weight")),
        Rule("[model.]norm", ("backbone", "norm")),
        Rule("score.weight", ("score", "weight"), Transform.ONLY_ROW),
    ),
    ignored=("[model.]pooler",),
)
SOUND = {
    "model.layers.0.weight": np.full((2, 3), 1, np.float32),
    "model.layers.1.weight": np.full((2, 3), 2, np.float16),
    "model.norm": np.full((3,), 3, np.float32),
    "score.weight": np.full((1, 3), 4, np.float32),
}


class Layer(nnx.Module):
    def __init__(self) -> None:
        self.weight = nnx.Param(jax.numpy.zeros((2, 3)))


class Backbone(nnx.Module):
    def __init__(self) -> None:
        self.layers = nnx.List([Layer(), Layer()])
        self.norm = nnx.Param(jax.numpy.zeros((3,)))


class Score(nnx.Module):
    def __init__(self) -> None:
        self.weight = nnx.Param(jax.numpy.zeros((3,)))


class Network(nnx.Module):
    def __init__(self) -> None:
        self.backbone = Backbone()
        self.score = Score()


def abstract() -> Any:
    return nnx.split(nnx.eval_shape(Network), nnx.Param)[1]


def source(tmp_path: Path, tensors: dict[str, Any], **options: Any) -> Source:
    (tmp_path / "w.safetensors").write_bytes(save(tensors))
    file = TensorFile.open(PackageFolder(tmp_path), "w.safetensors")
    return Source(file, MAP, **{"prefix": "model.", **options})


def test_a_sound_file_fills_the_tree(tmp_path: Path) -> None:
    wanted = source(tmp_path, SOUND | {"model.pooler": np.zeros(7, np.int64)})
    fills = plan_fills(abstract(), [wanted])
    seen: list[tuple[Stage, int, int]] = []
    params = read_params(abstract(), fills, progress=lambda *report: seen.append(report))
    values = {path: leaf[...] for path, leaf in nnx.to_flat_state(params)}
    assert {path: float(value.ravel()[0]) for path, value in values.items()} == {
        ("backbone", "layers", 0, "weight"): 1.0,
        ("backbone", "layers", 1, "weight"): 2.0,
        ("backbone", "norm"): 3.0,
        ("score", "weight"): 4.0,
    }
    assert all(isinstance(value, jax.Array) and value.dtype == np.float32 for value in values.values())
    assert values["score", "weight"].shape == (3,)
    assert count_elements(fills, wanted.file) == 6 + 6 + 3 + 3
    total = 24 + 12 + 12 + 12
    assert seen[-1] == (Stage.READ, total, total)


def test_the_tree_joins_with_its_graph(tmp_path: Path) -> None:
    graphdef, tree = nnx.split(nnx.eval_shape(Network), nnx.Param)
    params = read_params(tree, plan_fills(tree, [source(tmp_path, SOUND)]), jax.devices()[0])
    network = nnx.merge(graphdef, params)
    assert float(network.backbone.norm[...][0]) == 3.0


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"other": np.zeros(1, np.float32)}, "other is no tensor of this network"),
        ({"model.layers.2.weight": np.zeros((2, 3), np.float32)}, r"layers\.2\.weight is no tensor of this network"),
        ({"model.layers.00.weight": np.zeros((2, 3), np.float32)}, "is no tensor of this network"),
        ({"model.norm": None}, r"no tensor for backbone\.norm"),
        (
            {"model.norm": np.zeros((1, 3), np.float32)},
            r"model\.norm has the shape \[1, 3\], the config asks for \[3\]",
        ),
        ({"score.weight": np.zeros((3,), np.float32)}, r"the config asks for \[1, 3\]"),
        ({"model.norm": np.zeros((3,), np.int32)}, r"model\.norm has the dtype I32"),
        ({"norm": np.zeros((3,), np.float32)}, r"norm must have the prefix 'model\.'"),
    ],
)
def test_faults_are_named(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    tensors = {key: value for key, value in (SOUND | changes).items() if value is not None}
    with pytest.raises(PackageError, match=fault) as caught:
        plan_fills(abstract(), [source(tmp_path, tensors)])
    assert "the weights do not fit config.json (1 faults)" in str(caught.value)


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    tensors = {"x": np.zeros(1, np.float32), "model.norm": np.zeros(4, np.float32)}
    with pytest.raises(PackageError, match="5 faults") as caught:
        plan_fills(abstract(), [source(tmp_path, tensors)])
    for part in (
        "w.safetensors: x is",
        "model.norm has the shape",
        "layers.0.weight",
        "layers.1.weight",
        "score.weight",
    ):
        assert part in str(caught.value)


def test_many_faults_are_cut(tmp_path: Path) -> None:
    tensors = SOUND | {f"x{index}": np.zeros(1, np.float32) for index in range(40)}
    with pytest.raises(PackageError, match=r"40 faults.*and 28 more"):
        plan_fills(abstract(), [source(tmp_path, tensors)])


def test_two_keys_of_one_parameter_are_refused(tmp_path: Path) -> None:
    doubled = KeyMap((*MAP.rules, Rule("gain", ("backbone", "norm"))))
    file = source(tmp_path, SOUND | {"gain": np.zeros(3, np.float32)}).file
    with pytest.raises(
        PackageError, match=r"w\.safetensors: gain and model\.norm are one parameter|must have the prefix"
    ):
        plan_fills(abstract(), [Source(file, doubled, "model.")])


def test_the_root_takes_no_prefix(tmp_path: Path) -> None:
    bare = {key.removeprefix("model."): value for key, value in SOUND.items()}
    assert plan_fills(abstract(), [source(tmp_path, bare, prefix="")])
    with pytest.raises(PackageError, match=r"model\.norm must have no prefix"):
        plan_fills(abstract(), [source(tmp_path, SOUND, prefix="")])


def test_either_prefix_may_be_used_but_not_both(tmp_path: Path) -> None:
    bare = {key.removeprefix("model."): value for key, value in SOUND.items()}
    assert plan_fills(abstract(), [source(tmp_path, bare, prefix=None)])
    assert plan_fills(abstract(), [source(tmp_path, SOUND, prefix=None)])
    mixed = {key: value for key, value in SOUND.items() if key != "model.norm"} | {"norm": SOUND["model.norm"]}
    with pytest.raises(PackageError, match=r"norm must have the prefix 'model\.'"):
        plan_fills(abstract(), [source(tmp_path, mixed, prefix=None)])


def test_a_partial_source_may_hold_more(tmp_path: Path) -> None:
    tensors = SOUND | {"other": np.zeros(1, np.float32)}
    assert len(plan_fills(abstract(), [source(tmp_path, tensors, partial=True)])) == 4
