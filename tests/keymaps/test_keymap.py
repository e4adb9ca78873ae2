"""Key maps: what a pattern matches, which path it fills, and how a stored tensor becomes a leaf."""

import numpy as np
import pytest

from checkpoints.keymaps import KeyMap, Rule, Transform, merged

MAP = KeyMap(
    rules=(
        Rule("[model.]layers.{i}.out.weight", ("backbone", "layers", "{i}", "out", "weight")),
        Rule("{layer}.{width}.3.weight", ("scorers", "{layer}.{width}", "weight"), Transform.ONLY_ROW),
        Rule("a+b", ("first",)),
        Rule("[x.]a+b", ("second",)),
    ),
    ignored=("[model.]position_ids", "layers.{i}.cache"),
)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("layers.0.out.weight", ("backbone", "layers", 0, "out", "weight")),
        ("model.layers.21.out.weight", ("backbone", "layers", 21, "out", "weight")),
        ("22.768.3.weight", ("scorers", "22.768", "weight")),
        ("a+b", ("first",)),
        ("x.a+b", ("second",)),
        ("layers.01.out.weight", None),
        ("layers..out.weight", None),
        ("layers.x.out.weight", None),
        ("layersx0.out.weight", None),
        ("model.model.layers.0.out.weight", None),
        ("layers.0.out.weight.", None),
        ("layers.0.out.weight\n", None),
        ("layers.\u0663.out.weight", None),
        ("aab", None),
        ("position_ids", None),
        ("", None),
    ],
)
def test_param_path(key: str, path: tuple[str | int, ...] | None) -> None:
    assert MAP.param_path(key) == path
    match = MAP.match(key)
    assert (None if match is None else match.path) == path


@pytest.mark.parametrize(
    ("key", "ignored"),
    [
        ("position_ids", True),
        ("model.position_ids", True),
        ("layers.3.cache", True),
        ("layers.3.caches", False),
        ("layers.0.out.weight", False),
    ],
)
def test_ignored(key: str, ignored: bool) -> None:
    assert MAP.is_ignored(key) is ignored


def test_transforms() -> None:
    stored = np.arange(4, dtype=np.float32).reshape(1, 4)
    assert Transform.AS_STORED.stored_shape((1, 4)) == (1, 4)
    assert Transform.AS_STORED.apply(stored) is stored
    assert Transform.ONLY_ROW.stored_shape((4,)) == (1, 4)
    np.testing.assert_array_equal(Transform.ONLY_ROW.apply(stored), [0, 1, 2, 3])


def test_merged_maps_know_what_each_knows_and_the_first_decides() -> None:
    other = KeyMap(rules=(Rule("a+b", ("third",)), Rule("c", ("c",))), ignored=("d",))
    both = merged([MAP, other])
    assert both.param_path("a+b") == ("first",)
    assert both.param_path("c") == ("c",)
    assert both.is_ignored("d")
    assert both.is_ignored("position_ids")
    assert merged([]).param_path("c") is None
