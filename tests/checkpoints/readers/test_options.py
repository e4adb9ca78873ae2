"""Family options of a models file."""

from typing import Any

import pytest

from checkpoints.files import PackageError
from checkpoints.readers.options import TaskHeadsOptions
from vela_jax.families.task_heads.spec import Exit


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"layers": 3},
        {"layers": [3, 6]},
        {"layers": []},
        {"layers": None, "pair_scorer": None, "pair_scorers": None},
        {"pair_scorers": []},
        {"pair_scorers": [{"layer": 3, "dimension": 64}]},
        {"max_scan_tokens": "of another family"},
    ],
)
def test_options_without_effect(options: dict[str, Any]) -> None:
    assert TaskHeadsOptions.from_mapping(options) == TaskHeadsOptions()


def test_the_default_exit() -> None:
    assert TaskHeadsOptions.from_mapping({"pair_scorer": {"layer": 3, "dimension": 64}}).pair_scorer == Exit(3, 64)


@pytest.mark.parametrize("layers", ["3", 0, -1, True, 3.0, [3, "6"], [True], {"layer": 3}])
def test_wrong_layers_are_refused(layers: Any) -> None:
    with pytest.raises(PackageError, match="option layers must be a layer number or a list of them"):
        TaskHeadsOptions.from_mapping({"layers": layers})


WRONG_EXITS = [
    3,
    [3, 64],
    {},
    {"layer": 3},
    {"layer": 3, "dimension": 64, "extra": 1},
    {"layer": "3", "dimension": 64},
    {"layer": 3, "dimension": 0},
    {"layer": True, "dimension": 64},
]


@pytest.mark.parametrize("exit_", WRONG_EXITS)
def test_wrong_exits_are_refused(exit_: Any) -> None:
    with pytest.raises(PackageError, match="option pair_scorer must be an object"):
        TaskHeadsOptions.from_mapping({"pair_scorer": exit_})
    with pytest.raises(PackageError, match=r"option pair_scorers\[1\] must be an object"):
        TaskHeadsOptions.from_mapping({"pair_scorers": [{"layer": 3, "dimension": 64}, exit_]})


def test_scorers_are_a_list() -> None:
    with pytest.raises(PackageError, match="option pair_scorers must be a list"):
        TaskHeadsOptions.from_mapping({"pair_scorers": {"layer": 3, "dimension": 64}})
