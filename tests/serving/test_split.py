"""A model split over simulated devices of a process of its own: answers, memory, probe, card, refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from checkpoints.fixtures.vela2_decoder import TINY_SIZES, write_decoder

pytestmark = pytest.mark.slow

DEVICES: Final = 8
COUNTS: Final = (1, 4)
TOLERANCE: Final = 1e-4
LARGE: Final = 1000  # values of a matrix that is worth splitting
SIZES: Final = replace(
    TINY_SIZES,
    backbone={
        **TINY_SIZES.backbone,
        **{"num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]},
        **{"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 16},
        **{"linear_num_key_heads": 8, "linear_num_value_heads": 16},
    },
)
LENGTH: Final = 512


def look(folder: Path, counts: Sequence[int]) -> dict[str, Any]:
    """What `split_process` says of a package that it splits so often."""
    (folder / "package").mkdir()
    write_decoder(folder / "package", SIZES, 0, "F32")
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    environment = {**os.environ, "XLA_FLAGS": flags.strip(), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.serving.split_process", str(folder), str(LENGTH), *map(str, counts)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return look(tmp_path_factory.mktemp("split"), COUNTS)


def test_other_numbers_of_devices(tmp_path: Path) -> None:
    found = look(tmp_path, (1, 2, 8))
    for count in ("2", "8"):
        assert apart(found, count) < TOLERANCE
        assert found[count]["repeats"] is True


def apart(found: dict[str, Any], count: str) -> float:
    """The largest difference from one device."""
    alone, split = (found[each]["answers"] for each in ("1", count))
    assert alone.keys() == split.keys()
    differences = [abs(float(alone[name]) - float(split[name])) for name in alone]
    return max(differences)


@pytest.mark.parametrize("count", COUNTS[1:])
def test_answers_are_those_of_one_device(found: dict[str, Any], count: int) -> None:
    assert apart(found, str(count)) < TOLERANCE


@pytest.mark.parametrize("count", COUNTS)
def test_a_split_model_gives_the_same_bits_again(found: dict[str, Any], count: int) -> None:
    assert found[str(count)]["repeats"] is True


@pytest.mark.parametrize("count", COUNTS[1:])
def test_large_matrices_of_the_backbone_are_shared_out(found: dict[str, Any], count: int) -> None:
    held = found[str(count)]["held"]  # by path: values in all, values on each device
    large = {path: sizes for path, sizes in held.items() if path.startswith("backbone.") and sizes[0] > LARGE}
    assert len(large) > 10
    for path, (whole, *shares) in large.items():
        if "conv1d" in path:
            assert shares == [whole] * count
        else:
            assert shares == [whole // count] * count, path
    everything = [sum(sizes[place] for sizes in held.values()) for place in range(1 + count)]
    assert everything[1] < everything[0] * (1 / count + 0.5)  # heads and norms lie on every device


@pytest.mark.parametrize("count", COUNTS)
def test_rows_are_proved_under_the_split(found: dict[str, Any], count: int) -> None:
    for bucket in found[str(count)]["buckets"]:
        assert bucket["length"] == LENGTH
        assert 2 in {*bucket["rows"], *bucket["rejected"]}
    assert found[str(count)]["numerics"] == "exact"


@pytest.mark.parametrize("count", COUNTS[1:])
def test_the_card_tells_the_mesh(found: dict[str, Any], count: int) -> None:
    assert found[str(count)]["engine_args"]["mesh"] == {"tensor": count}
    assert found[str(count)]["dtype"] == "fp32"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ('{"mesh": {"tensor": 9}}', "engine_args.mesh asks for 9 devices, this host has 8 from cpu on"),
        ('{"mesh": {"tensor": 3}}', "engine_args.mesh.tensor is 3, which does not divide hidden_size (64)"),
    ],
)
def test_refusals(found: dict[str, Any], args: str, says: str) -> None:
    assert says in found["refused"][args]
